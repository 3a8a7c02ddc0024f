"""What a stage stands on: the hosts, the suite, the time that is left, and how to start runs on some hosts."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nccltool.compare.result import Against
from nccltool.core.run_directory import new_id
from nccltool.core.units import format_bytes
from nccltool.hosts.facts import or_none
from nccltool.launch import fault_injection, host_survey
from nccltool.launch.host_survey import Survey
from nccltool.launch.job import Job
from nccltool.launch.launchers.base import RANKS_WITHOUT_GPU, LaunchPlan
from nccltool.preflight import nested_runs, probe_run, second_test
from nccltool.preflight.check import Check
from nccltool.preflight.nested_runs import Call
from nccltool.preflight.result import CheckOutcome
from nccltool.preflight.stage_run import StageRun
from nccltool.preflight.suite import ProbePart, Suite
from nccltool.probe.result import Measurement, Run
from nccltool.train.result import TrainingResult

START_S = 4.0
"""Until ranks on healthy nodes begin to measure: Python and torch are imported, the nodes meet (2 to 4 s here)."""
ROW_S = 0.3
"""What a row takes besides its budget: warm-up, check, who is late."""
LIMIT_S = 3600.0
"""Of a run, where no budget is given: the default of --deadline."""
MOST_SUSPECTS = 4
"""More hosts that are named by one run are no matter of single hosts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StageResult:
    """What a stage brought."""

    outcomes: tuple[CheckOutcome, ...]
    runs: tuple[str, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    trainings: tuple[TrainingResult, ...] = ()
    info: Run | None = None
    """The run that tells most of the circumstances."""


Judge = Callable[[StageRun], Sequence[CheckOutcome]]


@dataclass(slots=True)
class StageContext:
    """All that stages share."""

    suite: Suite
    where: LaunchPlan
    hosts: Mapping[int, str]
    """Node to the name of its host, as the user or the scheduler wrote it."""
    targets: Mapping[int, str]
    """Node to what --hosts calls it; empty = this launcher has no --hosts."""
    words: tuple[str, ...]
    """Options that every run gets."""
    folder: Path
    fault: str = ""
    keep_going: bool = False
    end: float | None = None
    """When the budget ends, by the monotonic clock; None = there is none."""
    stop: Callable[[], bool] = lambda: False
    outcomes: list[CheckOutcome] = field(default_factory=list)
    """Of the stages below."""
    baseline: Callable[[Run], Sequence[Against]] | None = None
    """Holds the numbers of a run against earlier ones; None = it is not asked for."""
    _survey: Survey | None = None
    _numbers: dict[str, int] = field(default_factory=dict)

    def survey(self) -> Survey:
        """The hosts as they were seen, once for all stages that ask."""
        if self._survey is None:
            self._survey = self._look()
        return self._survey

    def _look(self) -> Survey:
        launch = self.where.launch
        if not launch.remote:
            return host_survey.here(self.hosts)
        job = Job(
            run_id=new_id(),
            kind="reach",
            env=dict(self.where.env),
            node_variable=self.where.node_variable,
        )
        return host_survey.take(launch, job, self.hosts, self.left_s(), self.stop)

    @property
    def surveyed(self) -> bool:
        """Whether the hosts have been looked at."""
        return self._survey is not None

    @property
    def names(self) -> dict[str, str]:
        """What hosts call themselves -> what we call them."""
        if self._survey is None:
            return {}
        return {facts.host: self.hosts[node] for node, facts in self._survey.snapshots.items()}

    @property
    def nproc(self) -> int | None:
        """Ranks on a node; None = the hosts do not agree, or have not been asked."""
        if self.where.nproc is not None:
            return self.where.nproc
        if self._survey is None:
            return None
        counts = {or_none(facts.nvidia.visible_gpus) or 0 for facts in self._survey.snapshots.values()}
        if len(counts) != 1:
            return None
        return counts.pop() or (1 if len(self.hosts) > 1 else RANKS_WITHOUT_GPU)

    @property
    def on_gpus(self) -> bool:
        """Every host has GPUs, as far as is known."""
        snapshots = self._survey.snapshots.values() if self._survey else ()
        return bool(snapshots) and all(or_none(facts.nvidia.visible_gpus) for facts in snapshots)

    def left_s(self) -> float:
        """Seconds that are left for anything that is started now."""
        return LIMIT_S if self.end is None else max(self.end - time.monotonic(), 1.0)

    def nodes_left(self) -> list[int]:
        """The nodes that runs are started on: all; with --keep-going, those without a failure of their own."""
        if not self.keep_going:
            return list(self.hosts)
        failed = {one.host for one in self.outcomes if one.status == "fail"}
        return [node for node, host in self.hosts.items() if host not in failed]

    # ---- runs

    def call(self, label: str, command: Sequence[str], nodes: Sequence[int], nproc: int | None) -> Call:
        """A command of nccltool on these nodes."""
        launcher = self.where.launch.launcher
        where = ["--launcher", launcher]
        if self.targets:
            where += ["--hosts", ",".join(self.targets[node] for node in nodes)]
        where += ["--nodes", str(len(nodes))]
        where += ["--nproc-per-node", str(nproc)] if nproc else []
        number = self._numbers[label] = self._numbers.get(label, 0) + 1
        return Call(
            label=label if number == 1 else f"{label}-{number}",
            words=(*command, *where, *self.words),
            end=self.end or time.monotonic() + LIMIT_S,
            fault=self._fault(command[0], nodes, nproc),
        )

    def _fault(self, command: str, nodes: Sequence[int], nproc: int | None) -> str:
        """A fault goes with its host: to the rank that it has in this run, and to none without it."""
        fault = fault_injection.parse(self.fault)
        if fault is None or (fault.action in fault_injection.OF_TRAININGS and command != "train"):
            return ""
        ranks = nproc or 1
        node, local = divmod(fault.rank, ranks)
        if node not in nodes:
            return ""
        kept = [word for word in self.fault.partition(":")[2].split(",") if word and not word.startswith("rank=")]
        return f"{fault.action}:{','.join([f'rank={list(nodes).index(node) * ranks + local}', *kept])}"

    def start(self, stage: str, calls: Sequence[tuple[Call, Sequence[int]]], at_once: int = 1) -> list[StageRun]:
        """Run commands, and say what came of each."""
        came = nested_runs.run([call for call, _ in calls], self.folder / "runs", at_once, self.stop)
        return [
            StageRun(
                stage=stage,
                hosts=tuple(self.hosts[node] for node in nodes),
                run=one.run,
                why_not=one.why_not,
                repeat=call.line,
                folder=one.folder,
                alone=len({self.hosts[node] for node in nodes}) == 1,
                names=self.names,
            )
            for (call, nodes), one in zip(calls, came, strict=True)
        ]

    def with_second_tests(
        self,
        stage: str,
        command: Sequence[str],
        nodes: Sequence[int],
        first: Sequence[CheckOutcome],
        judged: Judge,
    ) -> tuple[tuple[CheckOutcome, ...], list[StageRun]]:
        """Each host that a run names again with one other partner, and the others without: (outcomes, runs)."""
        outcomes = tuple(first)
        named = {one.host for one in outcomes if one.status == "fail" and one.shown == "suspected" and one.host}
        suspects = [node for node in nodes if self.hosts[node] in named]
        others = [node for node in nodes if node not in suspects]
        if not suspects or len(suspects) > MOST_SUSPECTS or len(others) < 2 or self.left_s() < START_S:
            return outcomes, []
        groups = [others, *([node, others[at % len(others)]] for at, node in enumerate(suspects))]
        calls = [
            (self.call(f"{stage}-again", command, sorted(group), self.nproc), sorted(group)) for group in groups
        ]
        without, *pairs = self.start(stage, calls)
        for node, pair in zip(suspects, pairs, strict=True):
            outcomes = second_test.again(outcomes, self.hosts[node], judged(pair), judged(without))
        return outcomes, [without, *pairs]

    # ---- of probes

    def sizes(self, part: ProbePart) -> tuple[int, ...]:
        """Those for these hosts."""
        return part.gpu_sizes if part.gpu_sizes and self.on_gpus else part.sizes

    def probe(self, part: ProbePart) -> tuple[str, ...]:
        """The command of a part, without where it runs."""
        sizes = ",".join(format_bytes(size).replace(" ", "") for size in self.sizes(part))
        ops = ",".join(part.ops)
        return ("probe", "--op", ops, "--sizes", sizes, "-c", str(part.checks), "--budget", f"{part.row_s:g}")

    def probe_s(self, part: ProbePart) -> float:
        """How long it takes."""
        return START_S + len(part.ops) * len(self.sizes(part)) * (part.row_s + ROW_S)

    def against_baseline(self, ran: StageRun) -> tuple[CheckOutcome, ...]:
        """What earlier runs say of the numbers of this one."""
        over_all = len(ran.hosts) == len(
            self.nodes_left()
        )  # of single nodes there is no baseline beside that of all
        if self.baseline is None or not over_all or ran.run is None or not ran.run.measurements:
            return ()
        return tuple(probe_run.held_against(ran, self.baseline(ran.run)))


def skipped(stage: str, reason: str) -> StageResult:
    """The stage says nothing."""
    return StageResult(outcomes=(CheckOutcome(check=Check(stage=stage), host=None, status="skip", reason=reason),))
