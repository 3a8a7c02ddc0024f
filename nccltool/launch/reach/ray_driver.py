"""A driver of Ray: lists the nodes of a cluster, or starts a process on each of some of them.

It runs as a script, with the Python that has Ray, which may lack nccltool: nothing of the package is imported.
Like srun, it is one process here that carries our standard input to all nodes, and what they write back.
"""

import argparse
import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import Any

COMES_S = 90.0
"""From our start, how long Ray may take to start a process on a node: 5 to 15 s here, unless GPUs are lacking."""
_ENDS_S = 8.0
"""How long the processes may take to end after their input has closed."""
_TICK_S = 0.2
_PIECE = 65536
NODE_VARIABLE = "NCCLTOOL_NODE"
COMPLAINT = "ray-driver"
"""How the lines begin that tell why a node ended: ray-driver: HOST: reason."""


def main(words: Sequence[str]) -> int:
    """`nodes`: print them; `run`: start the process of each; the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", default="auto")
    parser.add_argument("--python", default="")
    parser.add_argument("what", choices=("nodes", "run"))
    parser.add_argument("nodes", nargs="*", help="ID:GPUS:HOST")
    asked = parser.parse_args(words)
    come_by = time.monotonic() + COMES_S
    ray = importlib.import_module("ray")
    # what other programs print on these nodes is not ours
    ray.init(address=asked.address, log_to_driver=False, logging_level="ERROR")
    if asked.what == "nodes":
        sys.stdout.write(json.dumps(ray.nodes(), default=str))
        return 0
    return _Driver(ray, _started(ray, asked.nodes, asked.python), come_by).until_end()


@dataclass(slots=True)
class _Node:
    """A node process, as seen from here."""

    host: str
    actor: Any
    has_come: bool = False
    has_spoken: bool = False
    is_over: bool = False
    rests: dict[str, bytes] = field(default_factory=dict)
    """What came of an unfinished line, by stream."""


def _started(ray: Any, nodes: Sequence[str], python: str) -> list[_Node]:
    """Ask for a process on each node. It has none of the processors, which others may hold, but all those GPUs."""
    held = ray.remote(concurrency_groups={"in": 1, "out": 1, "err": 1, "end": 1})(_held(ray))
    affinity = importlib.import_module("ray.util.scheduling_strategies").NodeAffinitySchedulingStrategy
    made = []
    for number, word in enumerate(nodes):
        node_id, gpus, host = word.split(":", 2)
        where = affinity(node_id=node_id, soft=False)
        options = held.options(num_cpus=0, num_gpus=int(gpus), scheduling_strategy=where)
        made.append(_Node(host, options.remote(python, number)))
    return made


def _held(ray: Any) -> type:
    """The class of the actors. Ray sends it to nodes whose Python may lack this file."""

    class Held:
        """Holds a process on its node, which ends when its input closes: also when this actor dies."""

        def __init__(self, python: str, number: int) -> None:
            argv, pipe = (python or sys.executable, "-P", "-m", "nccltool.worker"), subprocess.PIPE
            env = {**os.environ, NODE_VARIABLE: str(number)}
            process = subprocess.Popen(argv, env=env, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
            assert process.stdin
            assert process.stdout
            assert process.stderr
            self.process, self.input = process, process.stdin
            self.streams = {"out": process.stdout.fileno(), "err": process.stderr.fileno()}

        def come(self) -> None:
            """Answers as soon as the process was started."""

        @ray.method(concurrency_group="in")  # type: ignore[untyped-decorator]
        def tell(self, data: bytes) -> None:
            """Empty: no more will come."""
            with contextlib.suppress(BrokenPipeError, ValueError):  # it has ended
                if data:
                    self.input.write(data)
                else:
                    self.input.close()

        @ray.method(concurrency_group="out")  # type: ignore[untyped-decorator]
        def out(self) -> bytes:
            return os.read(self.streams["out"], _PIECE)

        @ray.method(concurrency_group="err")  # type: ignore[untyped-decorator]
        def err(self) -> bytes:
            return os.read(self.streams["err"], _PIECE)

        @ray.method(concurrency_group="end")  # type: ignore[untyped-decorator]
        def end(self) -> int:
            """Its exit code; negative: the signal that ended it."""
            return self.process.wait()

    return Held


class _Driver:
    """Carries what is written here to all nodes, and what they write back, in whole lines."""

    def __init__(self, ray: Any, nodes: Sequence[_Node], come_by: float) -> None:
        self._ray, self._nodes = ray, nodes
        self._asked: dict[Any, Callable[[], None]] = {}
        """What Ray will answer -> what to do then."""
        self._come_by = come_by
        self._closed_at: float | None = None
        self._code = 0

    def until_end(self) -> int:
        """Until all have ended; 1 when one of them ended with a fault."""
        signal.signal(signal.SIGTERM, self._leave)
        for node in self._nodes:
            self._ask(node, node.actor.come.remote(), partial(self._come, node))
            self._ask(node, node.actor.out.remote(), partial(self._hear, node, "out", sys.stdout.buffer))
            self._ask(node, node.actor.err.remote(), partial(self._hear, node, "err", sys.stderr.buffer))
        threading.Thread(target=self._carry, daemon=True).start()
        while self._asked and not self._is_late(time.monotonic()):
            ready, _ = self._ray.wait(list(self._asked), num_returns=1, timeout=_TICK_S)
            for ref in ready:
                self._asked.pop(ref)()
        return self._code

    def _carry(self) -> None:
        while data := os.read(0, _PIECE):
            self._tell(data)
        self._close()

    def _tell(self, data: bytes) -> None:
        for node in self._nodes:
            if not node.is_over:
                node.actor.tell.remote(data)

    def _close(self) -> None:
        self._closed_at = self._closed_at or time.monotonic()
        self._tell(b"")

    def _leave(self, number: int, frame: FrameType | None) -> None:
        threading.Thread(target=self._close, daemon=True).start()

    def _is_late(self, now: float) -> bool:
        if now > self._come_by:
            self._come_by = float("inf")
            for node in self._nodes:
                if not node.has_come:
                    self._complain(node, f"Ray started no process there within {COMES_S:.0f} s")
        return self._closed_at is not None and now > self._closed_at + _ENDS_S

    def _ask(self, node: _Node, ref: Any, then: Callable[[Any], None]) -> None:
        def answered() -> None:
            try:
                answer = self._ray.get(ref)
            except self._ray.exceptions.RayError as error:
                self._complain(node, _said(error))
            else:
                then(answer)

        self._asked[ref] = answered

    def _come(self, node: _Node, _: None) -> None:
        node.has_come = True

    def _hear(self, node: _Node, stream: str, onto: Any, data: bytes) -> None:
        *lines, rest = (node.rests.pop(stream, b"") + data).split(b"\n")
        if not data and rest:
            lines, rest = [*lines, rest], b""
        node.rests[stream] = rest
        onto.write(b"".join(line + b"\n" for line in lines))
        onto.flush()
        if stream == "out":
            node.has_spoken |= bool(lines)
        if data:
            ask = node.actor.out if stream == "out" else node.actor.err
            self._ask(node, ask.remote(), partial(self._hear, node, stream, onto))
        elif stream == "out":
            self._ask(node, node.actor.end.remote(), partial(self._ended, node))

    def _ended(self, node: _Node, code: int) -> None:
        """Of a node that has spoken, its events tell why its exit code is not 0."""
        self._code = max(self._code, int(code != 0))
        if code < 0:
            self._complain(node, f"its process was killed by {signal.Signals(-code).name}")
        elif code and not node.has_spoken:
            self._complain(node, f"its process ended with exit code {code}")
        node.is_over = True

    def _complain(self, node: _Node, reason: str) -> None:
        if self._closed_at is None and not node.is_over:
            sys.stderr.write(f"{COMPLAINT}: {node.host}: {reason}\n")
            sys.stderr.flush()
        node.is_over, self._code = True, 1


def _said(error: Exception) -> str:
    """The last line of what Ray says is the exception; a traceback in colors may stand before it."""
    lines = [" ".join(line.split()) for line in str(error).splitlines() if line.strip()]
    return (lines or [type(error).__name__])[-1][:300]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
