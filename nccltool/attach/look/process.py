"""What /proc says of a process: its state, and counters that show whether it moves."""

import os
import re
from collections.abc import Iterator, Mapping

from nccltool.attach.seen.process import ProcessState
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import or_none
from nccltool.hosts.sources.base import Tree

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_MOST_THREADS = 64
"""Names of threads that are read: a rank has a few dozen kinds, and hundreds of one kind."""
_MOST_TASKS = 1024
"""Threads among which the one that trains is looked for; a worker of Ray has about 100."""
_MOST_CHILDREN = 64
_OF_X86, _OF_OTHERS = (0, 1, 17, 18, 19, 20, 74, 75), (63, 64, 65, 66, 67, 68, 82, 83)
_FIRST_IS_A_FILE = frozenset(map(str, _OF_X86 if os.uname().machine == "x86_64" else _OF_OTHERS))
"""read, write, pread, pwrite, readv, writev, fsync, fdatasync (asm/unistd_64.h; asm-generic/unistd.h)."""


def state(pid: int, tree: Tree, thread: int | None = None) -> ProcessState | None:
    """None when the process is gone. `thread`: the one that trains, in its PID namespace; None: the main one."""
    folder = f"/proc/{pid}"
    stat, status = or_none(tree.text(f"{folder}/stat")), or_none(tree.rows(f"{folder}/status"))
    if stat is None or status is None:
        return None
    words = stat.rpartition(")")[2].split()
    task = f"{folder}/task/{pid if thread is None else _task(pid, thread, status, tree)}"
    main = or_none(tree.rows(f"{task}/status")) or {}
    io = or_none(tree.rows(f"{folder}/io")) or {}
    call = or_none(tree.text(f"{task}/syscall")) or ""
    return ProcessState(
        pid=pid,
        name=status.get("Name", "?"),
        state=words[0],
        parent=int(words[1]),
        tracer_pid=_number(status, "TracerPid"),
        cpu_s=(int(words[11]) + int(words[12])) * _TICK_S,
        main_cpu_s=_cpu_s(or_none(tree.text(f"{task}/stat"))),
        main_voluntary_switches=_number(main, "voluntary_ctxt_switches"),
        main_involuntary_switches=_number(main, "nonvoluntary_ctxt_switches"),
        run_delay_s=_run_delay_s(or_none(tree.text(f"{task}/schedstat"))),
        read_bytes=_number(io, "read_bytes"),
        write_bytes=_number(io, "write_bytes"),
        rchar=_number(io, "rchar"),
        wchar=_number(io, "wchar"),
        waits_in=_wchan(or_none(tree.text(f"{task}/wchan")) or ""),
        syscall=call.split()[0] if call[:1].isdigit() else "",
        waits_on=_file_of(call, folder, tree),
        kernel_stack=_kernel_stack(tree.lines(f"{task}/stack")),
        memory_bytes=_kilobytes(status.get("VmRSS", "")),
        threads=tuple(_thread_names(folder, tree)),
        threads_count=_number(status, "Threads"),
    )


def _task(pid: int, thread: int, status: Mapping[str, str], tree: Tree) -> int:
    """A thread in a PID namespace has another number there; 0 = it has none here."""
    if thread == pid or _innermost(status) == thread:
        return pid
    for task in (or_none(tree.names(f"/proc/{pid}/task")) or ())[:_MOST_TASKS]:
        if _innermost(or_none(tree.rows(f"/proc/{pid}/task/{task}/status")) or {}) == thread:
            return int(task)
    return 0


def _innermost(status: Mapping[str, str]) -> int | None:
    numbers = status.get("NSpid", "").split()
    return int(numbers[-1]) if numbers and numbers[-1].isdecimal() else None


def below(pid: int, tree: Tree) -> Iterator[int]:
    """The processes that one has started, and theirs."""
    waiting, count = [pid], 0
    while waiting and count < _MOST_CHILDREN:
        now = waiting.pop(0)
        for thread in (or_none(tree.names(f"/proc/{now}/task")) or ())[:_MOST_THREADS]:
            for child in (or_none(tree.text(f"/proc/{now}/task/{thread}/children")) or "").split():
                count += 1
                waiting.append(int(child))
                yield int(child)


def _number(rows: Mapping[str, str], name: str) -> int | None:
    value = rows.get(name, "")
    return int(value) if value.isdecimal() else None


def _cpu_s(stat: str | None) -> float | None:
    words = (stat or "").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) * _TICK_S if len(words) > 12 else None


def _run_delay_s(schedstat: str | None) -> float | None:
    words = (schedstat or "").split()
    return int(words[1]) / 1e9 if len(words) == 3 and words[1].isdecimal() else None


def _wchan(text: str) -> str:
    return "" if text == "0" else text


def _kilobytes(text: str) -> int | None:
    return int(text.split()[0]) * 1024 if re.fullmatch(r"\d+ kB", text) else None


def _file_of(call: str, folder: str, tree: Tree) -> str:
    """What the descriptor of a call that reads or writes leads to."""
    words = call.split()
    if len(words) < 2 or words[0] not in _FIRST_IS_A_FILE:
        return ""
    return or_none(tree.link(f"{folder}/fd/{int(words[1], 16)}")) or ""


def _kernel_stack(lines: tuple[str, ...] | Unknown) -> tuple[str, ...]:
    named = (re.match(r"\[<[^>]*>\] (\w[\w.]*)", line) for line in or_none(lines) or ())
    return tuple(found[1] for found in named if found)[:32]


def _thread_names(folder: str, tree: Tree) -> Iterator[str]:
    seen: set[str] = set()
    for thread in (or_none(tree.names(f"{folder}/task")) or ())[:_MOST_THREADS]:
        name = or_none(tree.text(f"{folder}/task/{thread}/comm")) or ""
        if name and name not in seen:
            seen.add(name)
            yield name
