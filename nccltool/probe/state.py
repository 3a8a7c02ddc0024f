"""What a measurement has come to, from what its ranks say."""

import msgspec

from nccltool.core import statistics
from nccltool.core.findings import Finding
from nccltool.launch.events import EVERYWHERE, Event, EventReader, World
from nccltool.probe import collectives, judge, late_rank
from nccltool.probe.events import OF_PROBES, Grouped, MeasuredWorld, PluginRaised, Result, Samples, WrongData
from nccltool.probe.result import Measurement
from nccltool.probe.split import SplitGroup
from nccltool.probe.transport import Limit


class ProbeState:
    """What was measured (a nccltool.launch.job.ProductState)."""

    reader = EventReader(*EVERYWHERE, *OF_PROBES)
    ask_for_less = "--op, -e, -n"

    def __init__(self) -> None:
        self.results: list[tuple[Result, tuple[int, ...]]] = []
        """Each with its samples in nanoseconds."""
        self._wrong: list[WrongData] = []
        self._raised: list[PluginRaised] = []
        self._samples: dict[int, list[int]] = {}
        self.done: set[int] = set()
        """Steps: operations at a size."""
        self._world_size = 1
        self._limits: dict[tuple[str | None, str], Limit] = {}
        """By group, None = all ranks; and by operation."""
        self._groups: dict[int, SplitGroup] = {}

    def take(self, event: Event) -> None:
        match event:
            case Samples():
                self._samples.setdefault(event.step, []).extend(event.ns)
            case Result():
                self.done.add(event.step)
                self.results.append((event, tuple(self._samples.pop(event.step, ()))))
            case WrongData():
                self._wrong.append(event)
            case PluginRaised():
                self._raised.append(event)
            case World():
                self._world_size = event.world_size
                limits = event.limits if isinstance(event, MeasuredWorld) else ()
                self._limits |= {(None, limit.op): limit for limit in limits}
            case Grouped():
                self._take_group(event)

    def _take_group(self, event: Grouped) -> None:
        before = self._groups.get(event.number)
        ranks, nodes = (before.ranks, before.nodes) if before else ((), ())
        self._groups[event.number] = SplitGroup(
            name=event.name, ranks=(*ranks, *event.ranks), nodes=(*nodes, *event.nodes)
        )
        self._limits |= {(event.name, limit.op): limit for limit in event.limits}

    @property
    def groups(self) -> tuple[SplitGroup, ...]:
        """Into which the ranks were divided; empty = they were not."""
        return tuple(group for _, group in sorted(self._groups.items()))

    def findings(self) -> tuple[Finding, ...]:
        return (*judge.wrong_data(self._wrong), *judge.plugin_raised(self._raised))

    def row(self, result: Result, samples_ns: tuple[int, ...]) -> Measurement:
        """The row of a step, of all ranks or of its group."""
        of = result.group
        limit = self._limits.get((of.name if of else None, result.op))
        return measurement(result, samples_ns, of.world_size if of else self._world_size, limit)

    def measurements(self) -> tuple[Measurement, ...]:
        return tuple(
            self.row(result, samples)
            for result, samples in sorted(self.results, key=lambda told: told[0].step)
            if samples
        )


_LEAST_S = 1e-9
"""Samples are whole nanoseconds: what took none took less than one."""


def measurement(
    result: Result, samples_ns: tuple[int, ...], world_size: int, limit: Limit | None = None
) -> Measurement:
    """One row: algbw = bytes / time, busbw = algbw x the operation's factor (doc/PERFORMANCE.md of
    nccl-tests). Times are averaged before dividing: the mean of rates would hide slow iterations."""
    collective = collectives.get(result.op)
    times = statistics.summarise([ns / 1e9 / collective.trips for ns in samples_ns])
    algbw = result.bytes / max(times.seconds, _LEAST_S)
    said = msgspec.structs.asdict(result)
    del said["step"]
    late = said.pop("late_ranks")
    return Measurement(
        **said,
        late_ranks=None if late is None else late_rank.of_pairs(late),
        iterations=len(samples_ns),
        time_s=times,
        algbw_bytes_per_s=algbw,
        busbw_bytes_per_s=algbw * collective.bus_factor(world_size),
        limit_busbw_bytes_per_s=limit.busbw_bytes_per_s if limit else None,
        limit_may_be_exceeded=limit is not None and limit.may_be_exceeded,
    )
