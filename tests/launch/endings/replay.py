"""Plays the endings that are written down beside this file.

A file is a kind of ending, a section of it one ending:

    == name | truth            rank 1; host beta; nobody
    hosts alpha alpha beta     the hosts of ranks 0, 1, 2; without it four ranks, two on alpha, two on beta
    0 3 never                  the rank never began
    70.0 2,3 log TEXT          seconds, ranks, what happened; {rank} {local} {host} and {pid} are filled in
    70.0 2 frames 14           so many frames of a C++ stack
    70.1 2 exit -6             its process ended, by a signal or with a code; `-15 told`: by way of its supervisor
    70.1 2 raised TEXT         an exception in a communication call, and exit code 1
    70.1 2 failed TEXT         an exception elsewhere, and exit code 1
    10.0 1 beat calls=42 ...   where it is: calls odd = inside a call; state=T; phase; step
    10.0 1 lost                its supervisor says nothing any more
    70.2 1 agent -9            the agent of its node was ended by a signal

All begin inside the 21st call of a step. Supervisors that have no news say so every five seconds.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from nccltool.launch import events
from nccltool.launch.events import Event
from nccltool.launch.run_state import RunState
from tests.samples import facts, job

FOLDER = Path(__file__).parent
KEEP_ALIVE_S = 5.0
FRAME = "frame #{}: c10d::ProcessGroupNCCL::Watchdog::run() + 0x8fd (0x7f2f5a3b8b0d in libtorch_cuda.so)"


@dataclass(frozen=True, slots=True)
class Ending:
    """One section of a file."""

    kind: str
    name: str
    truth: str
    hosts: tuple[str, ...]
    script: tuple[tuple[float, tuple[int, ...], str], ...]

    @property
    def id(self) -> str:
        return f"{self.kind}: {self.name}"


def endings() -> list[Ending]:
    """All that are written down."""
    return [one for file in sorted(FOLDER.glob("*.txt")) for one in _sections(file)]


def _sections(file: Path) -> Iterator[Ending]:
    for section in file.read_text().split("\n== ")[1:]:
        title, *lines = section.splitlines()
        name, truth = title.split(" | ")
        hosts: tuple[str, ...] = ("alpha", "alpha", "beta", "beta")
        script = []
        for line in lines:
            if line.startswith("hosts "):
                hosts = tuple(line.split()[1:])
            elif line.strip() and not line.startswith("#"):
                time, ranks, rest = line.split(None, 2)
                script.append((float(time), tuple(_numbers(ranks)), rest))
        yield Ending(file.stem, name, truth, hosts, tuple(sorted(script, key=lambda one: one[0])))


def _numbers(words: str) -> Iterator[int]:
    for word in words.split(","):
        first, _, last = word.partition("-")
        yield from range(int(first), int(last or first) + 1)


def played(ending: Ending) -> RunState:
    """What the runner knows when all of it has come."""
    return _Player(ending).state


class _Player:
    def __init__(self, ending: Ending) -> None:
        self.hosts = ending.hosts
        self.nodes = list(dict.fromkeys(ending.hosts))
        self.state = RunState(job(nodes=len(self.nodes), emulated=False), len(ending.hosts), 0.0)
        self.beats: dict[int, events.Beat] = {}
        late = {rank for _, ranks, what in ending.script for rank in ranks if what == "never"}
        for rank in set(range(len(self.hosts))) - late:
            self._begin(rank)
        next_s = KEEP_ALIVE_S
        for time, ranks, what in ending.script:
            while next_s <= time:
                for beat in self.beats.values():
                    self.state.apply(beat, next_s)
                next_s += KEEP_ALIVE_S
            for rank in ranks:
                for event in self._events(rank, what):
                    self.state.apply(event, time)

    def _begin(self, rank: int) -> None:
        host = self.hosts[rank]
        node, pid = self.nodes.index(host), 1000 + rank
        here = replace(
            facts(0),
            rank=rank,
            node_rank=node,
            local_rank=self._local(rank),
            world_size=len(self.hosts),
            host=host,
            host_id=f"boot-{host}",
            pid=pid,
            host_addresses=(f"192.0.2.{node + 1}",),
        )
        self.beats[rank] = events.Beat(rank=rank, phase="timing", step=0, calls=41, state="S")
        for event in (
            events.Spawned(rank=rank, node_rank=node, host=host, pid=pid),
            events.Hello(facts=here),
            events.Enter(rank=rank, step=0, op="all_reduce", bytes=2**30),
            self.beats[rank],
        ):
            self.state.apply(event, 0.0)

    def _local(self, rank: int) -> int:
        return self.hosts[:rank].count(self.hosts[rank])

    def _events(self, rank: int, what: str) -> Iterator[Event]:
        verb, _, rest = what.partition(" ")
        host, pid = self.hosts[rank], 1000 + rank
        text = rest.replace("{rank}", str(rank)).replace("{local}", str(self._local(rank)))
        text = text.replace("{host}", host).replace("{pid}", f"{pid}:{pid + 99}")
        match verb:
            case "log":
                yield events.Log(rank=rank, text=text)
            case "frames":
                yield from (events.Log(rank=rank, text=FRAME.format(number)) for number in range(int(rest)))
            case "beat":
                self.beats[rank] = _changed(self.beats[rank], rest)
                yield self.beats[rank]
            case "raised" | "failed":
                yield events.Failed(rank=rank, in_collective=verb == "raised", text=text.replace("\\n", "\n"))
                yield from self._ended(rank, 1)
            case "exit":
                code, _, told = rest.partition(" ")
                yield from self._ended(rank, int(code), told == "told")
            case "agent":
                for other in [one for one in self.beats if self.hosts[one] == host]:
                    del self.beats[other]
                yield events.AgentKilled(node_rank=self.nodes.index(host), host=host, code=int(rest))
            case "lost":
                del self.beats[rank]
            case "never":
                pass
            case _:
                raise AssertionError(f"{verb} is no verb")

    def _ended(self, rank: int, code: int, told: bool = False) -> Iterator[Event]:
        beat = self.beats.pop(rank, None)
        if beat is not None:
            yield _changed(beat, "state=X")
        yield events.Exited(rank=rank, code=code, told=told)


def _changed(beat: events.Beat, words: str) -> events.Beat:
    """With what `phase=checking calls=42` says."""
    for word in words.split():
        name, _, value = word.partition("=")
        beat = msgspec.structs.replace(beat, **{name: int(value) if value.lstrip("-").isdecimal() else value})
    return beat
