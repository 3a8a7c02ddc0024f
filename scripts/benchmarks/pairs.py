"""Does `pairs` name what is slow among eight real hosts, and nothing else? Hosts are network namespaces, over ssh.

scripts/bench pairs                              ten runs of each fault, twenty without one
scripts/bench pairs --only link,stopped --runs 2
scripts/bench pairs --record FILE                runs in FILE are counted, and not made again

Each run has a seed of its own, which says whose fault it is. A run is exact if what is named is what is slow.
"""

import argparse
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random

import msgspec

from benchmarks import extent
from tests.lab import lab, sshd
from tests.lab.lab import Host, Lab
from tests.support.commands import NCCLTOOL, Command, Ended, until

HOSTS = 8
FULL, HALF, SLOW_LINK, LOST_PERCENT = "100mbit", "50mbit", "40mbit", 2
RUNS, HEALTHY_RUNS, HOSTS_USED = extent.of((10, 20, HOSTS), (1, 1, 4))
SHARE_FOUND = 0.9
_LIMIT_S = 300.0
_TRIES = extent.of(5, 1)
_IDLE, _LOOK_S, _IDLE_WAIT_S = 0.4, 2.0, extent.of(15.0, 0.0)
Name = tuple[str, ...]
"""Kind and subject: a node, or the two of a link."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """A fault of the network, and what should be named."""

    name: str
    disturb: Callable[[Lab, Random], Name | None]
    """Before the run; returns whom it hit."""
    words: tuple[str, ...] = ()
    during: Callable[[Lab, Name], None] | None = None
    """After the first round."""
    runs: int = RUNS


class PairsScore(msgspec.Struct, frozen=True):
    """What came of a run."""

    scene: str
    seed: int
    truth: list[str] | None
    named: list[list[str]]
    code: int
    seconds: float
    load: float
    """Average of the machine over the last minute, at the start."""
    noise: float | None
    measured: int = 0
    """Results."""
    failed_starts: int = 0
    """Tries before it whose hosts were too busy to start."""

    @property
    def found(self) -> bool:
        return self.truth is None or self.truth in self.named

    @property
    def innocent(self) -> int:
        """How many were named wrongly."""
        return sum(one != self.truth for one in self.named)


def main(options: Sequence[str] = ()) -> bool:
    """Print a line for each run, then the table; whether the goals are met."""
    asked = _asked(options)
    if reason := lab.missing() or sshd.missing():
        print(f"cannot tell: {reason}")
        return False
    scores = _recorded(asked.record)
    for number in range(max(asked.runs or 0, *(scene.runs for scene in SCENES))):
        for scene in SCENES:
            runs = asked.runs or scene.runs
            known = any((one.scene, one.seed) == (scene.name, number + asked.seed) for one in scores)
            if number >= runs or known or scene.name not in (asked.only or scene.name).split(","):
                continue
            score, said = _measured(scene, number + asked.seed)
            scores.append(score)
            print(_line(score), *([] if _is_right(score) else [said]), sep="\n", flush=True)
            if asked.record:
                with asked.record.open("ab") as file:
                    file.write(msgspec.json.encode(score) + b"\n")
    print(*table(scores), sep="\n")
    return all(_is_met([one for one in scores if one.scene == scene.name]) for scene in SCENES)


def _asked(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/bench pairs")
    parser.add_argument("--seed", type=int, default=1, help="the first; each run has the next")
    parser.add_argument("--runs", type=int, help="of each scene")
    parser.add_argument("--only", help=f"scenes, of {','.join(scene.name for scene in SCENES)}")
    parser.add_argument("--record", type=Path, help="a file of scores: its runs are not made again, and counted")
    return parser.parse_args(options)


def _recorded(file: Path | None) -> list[PairsScore]:
    if file is None or not file.exists():
        return []
    return [msgspec.json.decode(line, type=PairsScore) for line in file.read_bytes().splitlines()]


def _measured(scene: Scene, seed: int) -> tuple[PairsScore, str]:
    """The score of a run, and what the run said. Hosts that are too busy to start are tried again."""
    for failed in range(_TRIES):
        _wait_until_idle()
        score, said = _one(scene, seed, failed)
        if score.measured:
            break
    return score, said


def _wait_until_idle() -> None:
    """Eight hosts start on this one machine, and must not share it with more than they need."""
    end = time.monotonic() + _IDLE_WAIT_S
    while time.monotonic() < end:
        before, began = _idle_s(), time.monotonic()
        time.sleep(_LOOK_S)
        if _idle_s() - before > _IDLE * (time.monotonic() - began) * (os.cpu_count() or 1):
            return


def _idle_s() -> float:
    """Of all processors, since the machine was started."""
    return int(Path("/proc/stat").read_text().split()[4]) / os.sysconf("SC_CLK_TCK")


def _one(scene: Scene, seed: int, failed: int) -> tuple[PairsScore, str]:
    """One try; `failed`: those before it."""
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="pairs-", ignore_cleanup_errors=True))
        )
        hosts = stack.enter_context(Lab(HOSTS_USED))
        servers = stack.enter_context(sshd.Sshd(hosts, folder / "sshd"))
        hosts.wire(FULL)
        hit = scene.disturb(hosts, Random(f"{scene.name}/{seed}"))
        where = ("--hosts", f"n[1-{HOSTS_USED}]", "--ssh", " ".join(servers.ssh), "--bytes", "1MiB")
        load, began = os.getloadavg()[0], time.monotonic()
        command = stack.enter_context(hosts.hosts[0].start((*NCCLTOOL, "pairs", *where, *scene.words), folder))
        if scene.during and hit and _has_begun(command):
            scene.during(hosts, hit)
        ended = command.wait(_LIMIT_S)
        seconds = time.monotonic() - began
        assert ended.runs.exists(), ended.said
        for host in hosts.hosts:
            host.kill_everything()
        score = PairsScore(
            scene=scene.name,
            seed=seed,
            truth=list(hit) if hit else None,
            named=[list(one) for one in sorted(set(_named(ended)))],
            code=ended.code,
            seconds=seconds,
            load=load,
            noise=ended.document["noise"],
            measured=len(ended.document["pairs"]),
            failed_starts=failed,
        )
        return score, ended.said


def _has_begun(command: Command) -> bool:
    """Whether a round came to its end; else the hosts did not start."""
    return until(
        lambda: (
            bool([one for one in command.events() if one["event"] == "round-ended"])
            or command.process.poll() is not None
        ),
        _LIMIT_S,
    ) and (command.process.poll() is None)


def _named(ended: Ended) -> Iterator[Name]:
    """Suspects, and hosts that findings name: their counters accuse too."""
    for one in ended.document["suspects"]:
        way = () if one["direction"] == "both" else (one["direction"],)
        yield (one["kind"], *(sorted(one["subject"]) if one["kind"] == "link" else one["subject"]), *way)
    # a suspect has its direction; the finding of it is the same accusation
    suspects = {one["subject"][0] for one in ended.document["suspects"] if one["kind"] == "node"}
    for finding in ended.document["findings"]:
        name, accuses = finding["subject"]["name"], finding["severity"] != "info"
        if accuses and finding["subject"]["kind"] == "host" and name not in suspects:
            yield ("node", name)


def _host(hosts: Lab, chance: Random) -> Host:
    """Any but the first, on which the command itself runs."""
    return chance.choice(hosts.hosts[1:])


def _nothing(hosts: Lab, chance: Random) -> None:
    """All are healthy."""


def _half(hosts: Lab, chance: Random) -> Name:
    host = _host(hosts, chance)
    hosts.slow_down(host, HALF)
    return ("node", host.name)


def _receives(hosts: Lab, chance: Random) -> Name:
    host = _host(hosts, chance)
    hosts.slow_down(host, HALF, sends=False)
    return ("node", host.name, "receive")


def _sends(hosts: Lab, chance: Random) -> Name:
    host = _host(hosts, chance)
    hosts.slow_down(host, HALF, receives=False)
    return ("node", host.name, "send")


def _loses(hosts: Lab, chance: Random) -> Name:
    host = _host(hosts, chance)
    hosts.lose(host, LOST_PERCENT)
    return ("node", host.name)


def _link(hosts: Lab, chance: Random) -> Name:
    one, other = chance.sample(hosts.hosts, 2)
    hosts.slow_link(one, other, SLOW_LINK)
    hosts.slow_link(other, one, SLOW_LINK)
    return ("link", *sorted((one.name, other.name)))


def _chosen(hosts: Lab, chance: Random) -> Name:
    return ("node", _host(hosts, chance).name)


def _stop(hosts: Lab, hit: Name) -> None:
    for pid in next(host for host in hosts.hosts if host.name == hit[1]).pids():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)


SCENES = (
    Scene(name="healthy", disturb=_nothing, runs=HEALTHY_RUNS),
    Scene(name="half-rate", disturb=_half),
    Scene(name="loss", disturb=_loses),
    Scene(name="link", disturb=_link),
    Scene(name="receives", disturb=_receives, words=("--op", "send_recv")),
    Scene(name="sends", disturb=_sends, words=("--op", "send_recv")),
    Scene(name="stopped", disturb=_chosen, during=_stop),
)


def table(scores: Sequence[PairsScore]) -> Iterator[str]:
    """The sums by scene, in Markdown."""
    yield "| scene | runs | found | innocent named | exact | median time | load | failed starts |"
    yield "|---|---|---|---|---|---|---|---|"
    for scene in SCENES:
        mine = [one for one in scores if one.scene == scene.name]
        if not mine:
            continue
        found = "" if scene.name == "healthy" else f"{sum(one.found for one in mine)}"
        exact = sum(_is_right(one) for one in mine)
        seconds = sorted(one.seconds for one in mine)[len(mine) // 2]
        loads, failed = [one.load for one in mine], sum(one.failed_starts for one in mine)
        yield (
            f"| {scene.name} | {len(mine)} | {found} | {sum(one.innocent for one in mine)} | {exact} "
            f"| {seconds:.0f} s | {min(loads):.0f} to {max(loads):.0f} | {failed} |"
        )


def _is_met(scores: Sequence[PairsScore]) -> bool:
    found = sum(one.found for one in scores)
    return found >= SHARE_FOUND * len(scores) and not any(one.innocent for one in scores)


def _is_right(one: PairsScore) -> bool:
    return one.found and not one.innocent


def _line(one: PairsScore) -> str:
    named = "; ".join(" ".join(each) for each in one.named) or "nobody"
    good = "ok" if _is_right(one) else "WRONG"
    noise = "?" if one.noise is None else f"{100 * one.noise:.1f} %"
    return (
        f"{one.scene} seed {one.seed}: {' '.join(one.truth or ['nothing'])} -> {named}, exit {one.code}, "
        f"{one.seconds:.0f} s, noise {noise}, load {one.load:.1f}: {good}"
    )
