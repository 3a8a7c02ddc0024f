"""A job that is looked at without processes: what it does at each tick is written down."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from nccltool.attach.seen.job import HostLook, JobLook
from nccltool.core.errors import NotJudged
from tests.attach.judge.looks import R, look

COST_S = 0.03


@dataclass
class FakeLooker:
    """Ranks at each tick; None = none runs there, or what else is raised."""

    ticks: Sequence[tuple[R, ...] | NotJudged | None]
    every_s: float = 30.0
    place: int = -1
    looks: list[tuple[int, int]] = field(default_factory=list)
    """(tick, samples) of each look with stacks."""
    moved: dict[int, int] = field(default_factory=dict)

    def pulse(self) -> JobLook:
        self.place += 1
        return self._look(1, is_pulse=True)

    def look(self, samples: int) -> JobLook:
        self.looks.append((self.place, samples))
        return self._look(samples, is_pulse=False)

    def _look(self, samples: int, *, is_pulse: bool) -> JobLook:
        ranks = self.ticks[min(self.place, len(self.ticks) - 1)]
        if isinstance(ranks, NotJudged):
            raise ranks
        if ranks is None:
            raise NotJudged("no rank was seen: host n1: no rank runs here", "run it where the job runs")
        if is_pulse:
            for number, one in enumerate(ranks):
                self.moved[number] = self.moved.get(number, 0) + (one.switches or 0)
        bare = tuple(replace(one, stack=None) for one in ranks) if is_pulse else ranks
        return self._at_its_time(look(*bare, samples=samples), is_pulse)

    def _at_its_time(self, seen: JobLook, is_pulse: bool) -> JobLook:
        base = self.place * self.every_s + (0.0 if is_pulse else 0.1)
        return replace(seen, hosts=tuple(self._host(host, base, is_pulse) for host in seen.hosts))

    def _host(self, host: HostLook, base: float, is_pulse: bool) -> HostLook:
        samples = tuple(
            replace(
                one,
                at_s=base + one.at_s - 100,
                ranks=tuple(
                    replace(
                        rank,
                        process=replace(
                            rank.process,
                            main_voluntary_switches=(rank.process.main_voluntary_switches or 0)
                            + self.moved.get(rank.pid - 1000, 0),
                        ),
                    )
                    if rank.process
                    else rank
                    for rank in one.ranks
                ),
            )
            for one in host.samples
        )
        return replace(host, samples=samples, own_cpu_s=0.002 if is_pulse else COST_S)
