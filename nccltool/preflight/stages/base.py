"""What a stage stands on: the hosts, the suite, the time that is left, and how to start runs on some hosts."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nccltool.compare.result import Against
from nccltool.core.documents import RunInfo
from nccltool.core.host_lists import briefly
from nccltool.core.run_directory import new_id
from nccltool.core.text import counted
from nccltool.hosts.facts import HostFacts, or_none
from nccltool.launch import fault_injection, gpu_shares, host_survey, start_costs
from nccltool.launch.fault_injection import Fault
from nccltool.launch.host_survey import Survey
from nccltool.launch.job import Job
from nccltool.launch.launchers.base import LaunchPlan
from nccltool.launch.standstill import LONGEST_LOOK_S
from nccltool.launch.start_costs import Started
from nccltool.preflight import host_verdicts, nested_runs, probe_run
from nccltool.preflight.activity import Activity
from nccltool.preflight.nested_runs import Call, Reserve
from nccltool.preflight.result import Check, CheckOutcome
from nccltool.preflight.stage_run import StageRun
from nccltool.preflight.suite import Suite
from nccltool.probe.result import Measurement, Run

LIMIT_S = 3600.0
"""Of a run, where no budget is given: the default of --deadline."""
MOST_SUSPECTS = 4
"""More hosts that are named by one run are no matter of single hosts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StageResult:
    """What a stage brought."""

    outcomes: tuple[CheckOutcome, ...]
    runs: tuple[str, ...] = ()
    """Folders of those that it made."""
    run: Run | None = None
    """The one that tells most of the circumstances, with the numbers that stand for all nodes."""


Judge = Callable[[StageRun], Iterable[CheckOutcome]]


@dataclass(slots=True)
class StageContext:
    """All that stages share."""

    suite: Suite
    where: LaunchPlan
    hosts: Mapping[int, str]
    """Node to the name of its host, as the user or the scheduler wrote it."""
    words: tuple[str, ...]
    """Options that every run gets."""
    folder: Path
    backend: str = "auto"
    """As in --backend."""
    fault: Fault | None = None
    keep_going: bool = False
    end: float | None = None
    """When the budget ends, by the monotonic clock; None = there is none."""
    stop: Callable[[], bool] = lambda: False
    """Whether to end all now; asked often while a stage waits."""
    activity: Activity = field(default_factory=Activity)
    outcomes: list[CheckOutcome] = field(default_factory=list)
    """Of the stages below."""
    baseline: Callable[[RunInfo, Sequence[Measurement]], Sequence[Against]] | None = None
    """Holds the numbers of a run against earlier ones; None = it is not asked for."""
    stopped_s: float = 0.0
    """How long this command did not run, while it waited for others: Ctrl-Z, a suspended job, a paused machine."""
    reserve: Reserve = field(default_factory=Reserve)
    """What runs take besides their own deadlines."""
    assumed_gpus: int = 0
    """On each host, for an estimate, as long as no host has been looked at."""
    _survey: Survey | None = None
    _numbers: dict[str, int] = field(default_factory=dict)

    def survey(self) -> Survey:
        """The hosts as they were seen, once for all stages that ask."""
        launch, where = self.where.launch, self.where
        if self._survey is None and not launch.remote:
            self._survey = host_survey.here(self.hosts)
        if self._survey is None:
            job = Job(run_id=new_id(), kind="reach", env=dict(where.env), node_variable=where.node_variable)
            self.activity.step = f"looking at {counted(len(self.hosts_once), 'host')}"
            self._survey = host_survey.take(launch, job, self.hosts, self.left_s(), self.stop)
            self.stopped_s += self._survey.stopped_s
        return self._survey

    @property
    def surveyed(self) -> bool:
        """Whether the hosts have been looked at."""
        return self._survey is not None

    @property
    def hosts_once(self) -> tuple[str, ...]:
        """The names of the hosts; nodes may be processes of one."""
        return tuple(dict.fromkeys(self.hosts.values()))

    @property
    def _seen(self) -> Mapping[int, HostFacts]:
        return self._survey.snapshots if self._survey else {}

    @property
    def names(self) -> dict[str, str]:
        """What hosts call themselves -> what we call them."""
        return {facts.host: self.hosts[node] for node, facts in self._seen.items()}

    @property
    def nproc(self) -> int | None:
        """Ranks on a node; None = the hosts do not agree, or have not been asked."""
        if self.where.nproc is not None:
            return self.where.nproc
        counts = {or_none(facts.visible_gpus) for facts in self._seen.values()}
        if not self.surveyed and self.assumed_gpus:
            counts = {self.assumed_gpus}
        if self.backend == "gloo" and counts:
            return gpu_shares.ranks_over_gloo(counts, len(self.hosts))
        if len(counts) != 1:
            return None
        return gpu_shares.ranks_for(counts.pop(), len(self.hosts))

    @property
    def on_gpus(self) -> bool:
        """NCCL takes the ranks of every host on its GPUs, as far as is known."""
        if self.backend == "gloo":
            return False
        if not self.surveyed:
            return self.assumed_gpus > 0
        ranks = self.ranks_of_hosts
        return bool(self._seen) and all(
            gpu_shares.are_enough(facts, ranks[self.hosts[node]]) for node, facts in self._seen.items()
        )

    @property
    def ranks_of_hosts(self) -> Mapping[str, int]:
        """How many ranks each host has; one, where it is not known."""
        nproc = self.nproc or 1  # which looks at all hosts
        return {host: nodes * nproc for host, nodes in Counter(self.hosts.values()).items()}

    def started(self, nodes: Sequence[int] | None = None) -> Started:
        """Ranks that are started together on these nodes; None = on those that are left."""
        nodes = self.nodes_left() if nodes is None else nodes
        hosts = len({self.hosts[node] for node in nodes}) or 1
        per_host = -(-len(nodes) * (self.nproc or 1) // hosts)
        return Started(hosts=hosts, per_host=per_host, gpus=self.on_gpus, remote=self.where.launch.remote)

    def left_s(self) -> float:
        """Seconds that are left for anything that is started now."""
        return LIMIT_S if self.end is None else max(self.end - time.monotonic(), 1.0)

    def nodes_left(self) -> list[int]:
        """The nodes that runs are started on: all; with --keep-going, those without a failure of their own."""
        if not self.keep_going:
            return list(self.hosts)
        failed = {one.host for one in self.outcomes if one.status == "fail"}
        return [node for node, host in self.hosts.items() if host not in failed]

    def call(self, label: str, command: Sequence[str], nodes: Sequence[int] | None = None) -> Call:
        """A command of nccltool on these nodes; None = on those that are left."""
        nodes = self.nodes_left() if nodes is None else nodes
        where = ["--launcher", self.where.launch.launcher]
        if targets := self.where.targets:
            where += ["--hosts", ",".join(targets[node] for node in nodes)]
        where += ["--nodes", str(len(nodes))]
        where += ["--nproc-per-node", str(nproc)] if (nproc := self.nproc) else []
        number = self._numbers[label] = self._numbers.get(label, 0) + 1
        return Call(
            label=label if number == 1 else f"{label}-{number}",
            words=(*command, *where, *self.words),
            nodes=tuple(nodes),
            end=self.end or time.monotonic() + LIMIT_S,
            fault=self._fault(command[0], nodes),
        )

    def _fault(self, command: str, nodes: Sequence[int]) -> Fault | None:
        """A fault goes with its host: to the rank that it has in this run, and to none without it."""
        fault = self.fault
        if fault is None or (fault.action in fault_injection.OF_TRAININGS and command != "train"):
            return None
        ranks = self.nproc or 1
        node, local = divmod(fault.rank, ranks)
        return replace(fault, rank=list(nodes).index(node) * ranks + local) if node in nodes else None

    def start(self, stage: str, calls: Sequence[Call], at_once: int = 1) -> list[StageRun]:
        """Run commands, and say what came of each."""
        hosts = briefly(self.hosts[node] for call in calls for node in call.nodes)
        several = f"{len(calls)} runs of " if len(calls) > 1 else ""
        self.activity.step = f"{several}{calls[0].words[0]} on {hosts}" if calls else ""
        place, names = self.folder / "runs", self.names
        came = nested_runs.run(calls, place, at_once, self.stop, self._stood, self.reserve)
        return [
            StageRun(
                stage=stage,
                hosts=tuple(self.hosts[node] for node in call.nodes),
                run=one.run,
                why_not=one.why_not,
                killed_by=one.killed_by,
                repeat=call.line,
                folder=one.folder,
                by_budget=self.end is not None,
                names=names,
            )
            for call, one in zip(calls, came, strict=True)
        ]

    def _stood(self, seconds: float) -> None:
        self.stopped_s += seconds if seconds > LONGEST_LOOK_S else 0.0

    def over_all(self, stage: str, command: Sequence[str], judge: Judge) -> StageResult:
        """One run over the nodes that are left, and second tests of the hosts that it names."""
        nodes = self.nodes_left()
        ran = self.start(stage, [self.call(stage, command, nodes)])
        outcomes = tuple(judge(ran[0]))
        if groups := self._to_test_again(nodes, outcomes):
            calls = [self.call(f"{stage}-again", command, sorted(group)) for group in groups]
            ran += self.start(stage, calls)
            without = tuple(judge(ran[1]))
            for (suspect, *_), pair in zip(groups[1:], ran[2:], strict=True):
                outcomes = host_verdicts.again(outcomes, self.hosts[suspect], tuple(judge(pair)), without)
        return StageResult(
            outcomes=(*outcomes, *self.against_baseline(ran[0])),
            runs=tuple(one.folder for one in ran if one.folder),
            run=ran[0].run,
        )

    def _to_test_again(self, nodes: Sequence[int], outcomes: Iterable[CheckOutcome]) -> list[list[int]]:
        """The nodes without those that a run names, and each of these with one of them; () = no test helps."""
        named = {one.host for one in outcomes if one.status == "fail" and one.shown == "suspected" and one.host}
        suspects = [node for node in nodes if self.hosts[node] in named]
        others = [node for node in nodes if self.hosts[node] not in named]
        if not suspects or len(suspects) > MOST_SUSPECTS or len(others) < 2:
            return []
        if self.left_s() < start_costs.start_s(self.started(others)):
            return []
        return [others, *([node, others[at % len(others)]] for at, node in enumerate(suspects))]

    def against_baseline(self, ran: StageRun) -> Iterator[CheckOutcome]:
        """What earlier runs say of the numbers of this one; of single nodes there is none beside that of all."""
        over_all = len(ran.hosts) == len(self.nodes_left())
        if self.baseline is not None and over_all and ran.run is not None and ran.run.measurements:
            yield from probe_run.held_against(ran, self.baseline(ran.run.info, ran.run.measurements))


def skipped(stage: str, reason: str) -> StageResult:
    return StageResult(outcomes=(CheckOutcome(check=Check(stage=stage), host=None, status="skip", reason=reason),))
