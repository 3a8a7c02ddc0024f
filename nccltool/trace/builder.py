"""From the events of one trace to what is kept of it: sums, spans, steps, and collectives."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, TypeGuard

from nccltool.core.text import escaped
from nccltool.trace import names
from nccltool.trace.json_events import EVENTS
from nccltool.trace.result import NamedTime, RankTrace, TracedCollective, TracedStep
from nccltool.trace.spans import SpanCollector
from nccltool.trace.time_use import RankActivity, time_use

MOST_COLLECTIVES = 400_000
MOST_NAMES = 20_000
"""Of kernels and operators; all others are one row."""
MOST_STEPS = 100_000
MOST_RANKS = 1_000_000
OTHERS = "(others)"
_MOST_SHOWN = 50
_LONGEST_NAME = 300
_LATEST_US = 1e17
"""Three thousand years: a time beyond it is none."""
_GPU_WORK = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_ANNOTATIONS = frozenset({"user_annotation", "cpu_op"})
_OLD_CATEGORIES = {
    "Operator": "cpu_op",
    "Kernel": "kernel",
    "Memcpy": "gpu_memcpy",
    "Memset": "gpu_memset",
    "Runtime": "cuda_runtime",
}
"""As releases of Kineto up to 2021 wrote them."""


@dataclass(slots=True)
class _Names:
    """Counts and seconds by name."""

    rows: dict[str, list[float]] = field(default_factory=dict)

    def add(self, name: str, seconds: float) -> None:
        name = name[:_LONGEST_NAME] if name in self.rows or len(self.rows) < MOST_NAMES else OTHERS
        row = self.rows.setdefault(name, [0, 0.0])
        row[0] += 1
        row[1] += seconds

    def most(self) -> tuple[NamedTime, ...]:
        order = sorted(self.rows.items(), key=lambda item: (-item[1][1], item[0]))[:_MOST_SHOWN]
        return tuple(
            NamedTime(name=escaped(name), count=int(count), total_s=total) for name, (count, total) in order
        )


@dataclass(frozen=True, slots=True)
class _Event:
    name: str
    category: str
    begin_s: float
    end_s: float
    args: Mapping[str, Any]

    @property
    def seconds(self) -> float:
        return self.end_s - self.begin_s


class TraceBuilder:
    """Takes the events of a trace, in any order."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._head: dict[str, Any] = {}
        self._spans = {name: SpanCollector() for name in ("compute", "communication", "input", "cpu", "waits")}
        self._operators, self._kernels, self._comm_kernels = _Names(), _Names(), _Names()
        self._steps: dict[int, TracedStep] = {}
        self._optimizer_ends: list[float] = []
        self._gpu: list[TracedCollective] = []
        self._gloo: list[TracedCollective] = []
        self._calls: dict[str, Mapping[str, Any]] = {}
        """Arguments of record_param_comms by External id: kernels of some versions have none of their own."""
        self._unlabelled: dict[int, str] = {}
        self._has_gpu = self._is_cut = False
        self._first, self._last = math.inf, -math.inf
        self._events = self._unread = 0

    def take(self, key: str, value: Any) -> None:
        """A key of the file, or one of its events."""
        if key != EVENTS:
            self._head[key] = value if key in ("distributedInfo", "host_name") else None
        elif not isinstance(value, dict):
            self._unread += 1
        elif value.get("ph") == "X":
            self._events += 1
            event = _event(value)
            if event is None:
                self._unread += 1
            else:
                self._take(event)
        else:
            self._events += 1

    def _take(self, event: _Event) -> None:
        category, name = event.category, event.name
        if category != "Trace":
            self._first, self._last = min(self._first, event.begin_s), max(self._last, event.end_s)
        if category in _GPU_WORK:
            self._take_gpu(event)
        elif category in _ANNOTATIONS:
            self._take_cpu(event)
        elif category in ("cuda_runtime", "cuda_driver", "hip_runtime"):
            which = "waits" if names.WAITS.match(name) else "cpu"
            self._spans[which].add(event.begin_s, event.end_s)

    def _take_gpu(self, event: _Event) -> None:
        self._has_gpu = True
        if not names.is_nccl_kernel(event.name):
            self._kernels.add(event.name, event.seconds)
            self._spans["compute"].add(event.begin_s, event.end_s)
            return
        self._comm_kernels.add(event.name, event.seconds)
        self._spans["communication"].add(event.begin_s, event.end_s)
        if "Collective name" not in event.args:
            self._unlabelled[len(self._gpu)] = names.text_of(event.args, "External id")
        self._keep(self._gpu, _collective(event, names.operation_of(event.name), event.args))

    def _take_cpu(self, event: _Event) -> None:
        name = event.name
        if (number := names.step_number(name)) is not None and len(self._steps) < MOST_STEPS:
            self._steps[number] = TracedStep(number=number, begin_s=event.begin_s, end_s=event.end_s)
        elif names.is_optimizer_step(name) and len(self._optimizer_ends) < MOST_STEPS:
            self._optimizer_ends.append(event.end_s)
        elif names.is_input(name):
            self._spans["input"].add(event.begin_s, event.end_s)
        elif operation := names.gloo_operation(name):
            self._comm_kernels.add(name, event.seconds)
            self._spans["communication"].add(event.begin_s, event.end_s)
            self._keep(self._gloo, _collective(event, operation, event.args))
        elif name == "record_param_comms" and len(self._calls) < MOST_COLLECTIVES:
            self._calls[names.text_of(event.args, "External id")] = event.args
        if event.category == "cpu_op" and not names.is_call_of_communication(name):
            self._operators.add(name, event.seconds)
            self._spans["cpu"].add(event.begin_s, event.end_s)

    def _keep(self, where: list[TracedCollective], collective: TracedCollective) -> None:
        if len(where) < MOST_COLLECTIVES:
            where.append(collective)
        else:
            self._is_cut = True

    def built(self, *, skipped: int = 0, ends_early: bool = False) -> RankTrace:
        """What is known of the trace. `skipped`: events that were no JSON."""
        info = self._head.get("distributedInfo")
        info = info if isinstance(info, dict) else {}
        groups = _groups(info)
        steps, steps_from = self._all_steps()
        window = (steps[0].begin_s, steps[-1].end_s) if steps else (self._first, self._last)
        rank, ranks = names.count_of(info, "rank"), names.count_of(info, "world_size")
        spans = {name: collector.spans() for name, collector in self._spans.items()}
        return RankTrace(
            file=self._file,
            rank=names.rank_in(self._file.rpartition("/")[2]) if rank is None else rank,
            host=names.text_of(self._head, "host_name"),
            backend=names.text_of(info, "backend"),
            world_size=None if ranks is None or ranks > MOST_RANKS else ranks,
            groups=groups,
            steps=steps,
            steps_from=steps_from,
            has_gpu=self._has_gpu,
            use=time_use(RankActivity(window=window, has_gpu=self._has_gpu, **spans)),
            kernels=self._kernels.most(),
            operators=self._operators.most(),
            communication_kernels=self._comm_kernels.most(),
            collectives=self._all_collectives(groups),
            events=self._events,
            unread_events=self._unread + skipped,
            ends_early=ends_early,
            is_cut=self._is_cut,
        )

    def _all_steps(self) -> tuple[tuple[TracedStep, ...], str]:
        if self._steps:
            return tuple(sorted(self._steps.values(), key=lambda step: step.begin_s)), "step annotations"
        ends = sorted(self._optimizer_ends)
        pairs = pairwise(ends)
        steps = tuple(
            TracedStep(number=number, begin_s=begin, end_s=end) for number, (begin, end) in enumerate(pairs, 1)
        )
        return steps, "Optimizer.step" if steps else ""

    def _all_collectives(self, groups: Mapping[str, tuple[int, ...]]) -> tuple[TracedCollective, ...]:
        """Those of a GPU where it has any: then Gloo only exchanges a few words."""
        for at, call in self._unlabelled.items():
            if at < len(self._gpu) and call in self._calls:
                self._gpu[at] = _labelled(self._gpu[at], self._calls[call])
        only = next(iter(groups)) if len(groups) == 1 else ""
        chosen = sorted(self._gpu or self._gloo, key=lambda one: one.begin_s)
        return tuple(replace(one, group=only) if not one.group and only else one for one in chosen)


def _event(raw: Mapping[str, Any]) -> _Event | None:
    """None = its times are none."""
    begin, took, name = raw.get("ts"), raw.get("dur", 0), raw.get("name")
    if not _is_time(begin) or not _is_time(took) or took < 0 or not isinstance(name, str):
        return None
    args, category = raw.get("args"), raw.get("cat")
    return _Event(
        name=name,
        category=_OLD_CATEGORIES.get(category, category) if isinstance(category, str) else "",
        begin_s=begin / 1e6,
        end_s=(begin + took) / 1e6,
        args=args if isinstance(args, dict) else {},
    )


def _is_time(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LATEST_US


def _collective(event: _Event, operation: str, args: Mapping[str, Any]) -> TracedCollective:
    found = TracedCollective(group="", operation=operation, begin_s=event.begin_s, seconds=event.seconds)
    return _labelled(found, args)


def _labelled(one: TracedCollective, args: Mapping[str, Any]) -> TracedCollective:
    return replace(
        one,
        group=names.text_of(args, "Process Group Name") or one.group,
        operation=names.operation_of(names.text_of(args, "Collective name")) or one.operation,
        elements=names.count_of(args, "In msg nelems"),
        dtype=names.text_of(args, "dtype"),
    )


def _groups(info: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """The members of each group, as the profiler writes them."""
    rows = info.get("pg_config")
    groups = {}
    for row in rows if isinstance(rows, list) else ():
        ranks = row.get("ranks") if isinstance(row, dict) else None
        if isinstance(ranks, list) and all(isinstance(rank, int) for rank in ranks):
            groups[names.text_of(row, "pg_name")] = tuple(sorted(ranks))
    return groups
