"""What `py-spy dump --json` prints, as stacks: untrusted text of another process."""

from collections.abc import Collection
from dataclasses import replace
from typing import Annotated

import msgspec

from nccltool.attach.look import training_thread
from nccltool.attach.seen.process import StackFrame, ThreadStack

_MOST_FRAMES, _MOST_THREADS = 200, 256
_LONGEST = 300


class _Frame(msgspec.Struct, gc=False):
    name: str
    filename: str
    module: str | None = None
    line: int | None = None


class _Thread(msgspec.Struct, gc=False):
    frames: list[_Frame]
    thread_name: str | None = None
    os_thread_id: Annotated[int, msgspec.Meta(ge=0)] | None = None
    active: bool | None = None
    owns_gil: bool | None = None


def stacks(text: str, pid: int, inner_pids: Collection[int] = ()) -> tuple[ThreadStack, ...]:
    """The threads of a process, the one that trains first. `inner_pids`: its names in its own pid namespaces.

    Raises ValueError when it is something else.
    """
    threads = msgspec.json.decode(text, type=list[_Thread])[:_MOST_THREADS]
    found = tuple(_stack(one, pid) for one in threads)
    mains = {pid, *inner_pids}
    main = next((one for one in found if one.os_thread_id in mains or one.name == "MainThread"), None)
    trains = training_thread.chosen(found, main)
    marked = (replace(one, trains=one is trains) for one in found)
    return tuple(sorted(marked, key=lambda one: not one.trains))


def _stack(thread: _Thread, pid: int) -> ThreadStack:
    return ThreadStack(
        pid=pid,
        name=(thread.thread_name or "")[:_LONGEST],
        os_thread_id=thread.os_thread_id,
        active=thread.active,
        owns_gil=thread.owns_gil,
        frames=tuple(
            StackFrame(
                name=frame.name[:_LONGEST],
                file=(frame.filename or frame.module or "")[:_LONGEST],
                line=frame.line or None,
            )
            for frame in thread.frames[:_MOST_FRAMES]
        ),
    )
