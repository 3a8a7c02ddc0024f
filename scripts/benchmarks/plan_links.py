"""Do real trainings on slow links take the time that a plan predicts from a probe of these links?

    scripts/bench plan_links [--ranks N] [--rate RATE] [--keep FOLDER]

Hosts are network namespaces whose cables carry 100 Mbit/s or 1 Gbit/s each way, and whose processes have a fixed
share of a processor: ranks that wait give nothing to the others. There, `nccltool probe` measures collectives, and
then the strategies of `nccltool train` train a model. The prediction takes the alphas and betas of that probe, and
the time of a step on one rank without communication. Also printed: calls and bytes, and what the cable carried.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks import extent
from nccltool.core.units import format_seconds
from nccltool.plan import calls, choice, machines, trained
from nccltool.plan.trained import MeasuredTraining
from nccltool.train import document
from nccltool.train.result import ModelShape

RATES = extent.of(("100mbit", "1gbit"), ("1gbit",))
RANKS = extent.of((2, 4), (2,))
STRATEGIES = ("ddp", "zero1", "fsdp", "pipeline")
SHARES = {2: 0.9, 4: 0.45}
"""Of a processor, for a host: what is left of two is for the network and the rest of the machine."""
STEPS, WARM_UP = extent.of(4, 1), 2
MODELS: dict[str, dict[str, Any]] = {
    "long": {"layers": 6, "width": 192, "heads": 6, "context": 64, "vocabulary": 512, "batch": 8},
    "short": {"layers": 6, "width": 256, "heads": 8, "context": 32, "vocabulary": 512, "batch": 4},
}
"""Much arithmetic for each parameter, and little."""
_ROOT = Path(__file__).resolve().parents[2]
_CGROUPS = Path("/sys/fs/cgroup/cpu")
_PERIOD_US = 10_000
_BEFORE_OTHERS = "262144"
"""The largest weight: what else runs on this machine gets what the hosts leave."""
_LIMIT_S = 230.0
_PORT = 29511
_PROBED = ("--op", "all_reduce,all_gather,reduce_scatter,broadcast,send_recv", "--sizes", "1K,64K,1M,4M")


_RIGHT, _TARGET = 0.25, 0.9


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictedTraining:
    """A training: measured and predicted."""

    where: str
    """Model, ranks, and rate."""
    strategy: str
    measured_s: float
    predicted_s: float
    counted: dict[str, tuple[int, int]]
    planned: dict[str, tuple[int, int]]
    """Operation -> calls and bytes."""

    @property
    def error(self) -> float:
        return self.predicted_s / self.measured_s - 1


def main(options: Sequence[str] = ()) -> bool:
    """Print a row for each training; whether the targets are met."""
    parser = argparse.ArgumentParser(prog="scripts/bench plan_links")
    parser.add_argument("--ranks", type=int, choices=(2, 4), action="append")
    parser.add_argument("--rate", action="append", help="such as 100mbit")
    parser.add_argument("--keep", type=Path, help="save what was measured in this folder")
    parser.add_argument("--kept", type=Path, help="predict what an earlier run measured again")
    asked = parser.parse_args(list(options))
    if asked.kept:
        cases = [json.loads(file.read_text()) for file in sorted(asked.kept.glob("*.json"))]
    else:
        if reason := _missing():
            print(f"cannot tell: {reason}")
            return False
        cases = [measure(ranks, rate) for ranks in asked.ranks or RANKS for rate in asked.rate or RATES]
    if asked.keep:
        for case in cases:
            (asked.keep / f"{case['ranks']}-{case['rate']}.json").write_text(json.dumps(case))
    return _table([one for case in cases for one in predicted(case)])


def _missing() -> str:
    sys.path.insert(0, str(_ROOT))
    from tests.lab import lab

    return lab.missing() or (
        "" if (_CGROUPS / "cpu.cfs_quota_us").exists() else "needs control groups of version 1"
    )


def predicted(case: dict[str, Any]) -> list[PredictedTraining]:
    """Of what was measured on some hosts: each training, with what the probe there says of it."""
    ranks, rate = case["ranks"], case["rate"]
    run = document.from_json(json.dumps(case["probe"]).encode(), f"the probe of {ranks} hosts")
    linked = machines.with_probes(machines.of_word(machines.USUAL), [run], run.info.id)
    made = []
    for row in case["trainings"]:
        together = ranks if row["strategy"] == "pipeline" else 1
        shape = ModelShape(**MODELS[row["model"]], grown=(), ranks=together, replicas=ranks // together)
        one = MeasuredTraining(strategy=row["strategy"], shape=shape, ranks=ranks, micro_batches=2 * ranks)
        machine = trained.with_arithmetic(linked, one, statistics.median(row["alone"]["times_s"]))
        counted = {"send_recv" if name == "send" else name: tuple(value) for name, value in row["calls"].items()}
        counted.pop("recv", None)
        made.append(
            PredictedTraining(
                where=f"{row['model']}, {ranks} ranks, {rate}",
                strategy=row["strategy"],
                measured_s=statistics.median(row["times_s"]),
                predicted_s=trained.predicted(one, machine).total,
                counted=counted,
                planned={
                    call.operation: (call.count, call.bytes)
                    for call in calls.of(one.model, one.layout, one.recipe)
                },
            )
        )
    return made


def _table(rows: Sequence[PredictedTraining]) -> bool:
    print(
        f"| measured step, error of the prediction | {' | '.join(STRATEGIES)} |\n|{'---|' * (len(STRATEGIES) + 1)}"
    )
    for where in dict.fromkeys(row.where for row in rows):
        cells = [
            f"{format_seconds(row.measured_s)}, {100 * row.error:+.0f} %" for row in rows if row.where == where
        ]
        print(f"| {where} | {' | '.join(cells)} |")
    for row in rows:
        if row.counted != row.planned:
            print(f"{row.where}, {row.strategy}: counted {row.counted}, planned {row.planned}")
    right = sum(abs(row.error) <= _RIGHT for row in rows)
    print(
        f"within {_RIGHT:.0%}: {right} of {len(rows)}; equal calls and bytes: "
        f"{sum(row.counted == row.planned for row in rows)} of {len(rows)}"
    )
    pairs = [pair for pair in combinations(rows, 2) if pair[0].where == pair[1].where]
    agree = [_agree(a, b) for a, b in pairs]
    print(f"pairs of strategies in the measured order, or called equally fast: {sum(agree)} of {len(pairs)}")
    return min(right / len(rows), sum(agree) / len(pairs)) >= _TARGET


def _agree(a: PredictedTraining, b: PredictedTraining) -> bool:
    is_tie = abs(a.predicted_s / b.predicted_s - 1) <= choice.TIE
    return is_tie or (a.predicted_s < b.predicted_s) == (a.measured_s < b.measured_s)


def measure(ranks: int, rate: str) -> dict[str, Any]:
    """What was measured on so many hosts: the document of the probe, and each training."""
    sys.path.insert(0, str(_ROOT))
    from tests.lab import lab
    from tests.lab.conftest import join
    from tests.support.commands import Command

    with lab.Lab(ranks) as hosts, tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        hosts.wire(rate)
        groups = [_limited(stack, host.namespace, SHARES[ranks]) for host in hosts.hosts]
        words = (*_PROBED, "-n", "3", "-w", "1")
        probes = [
            Command(join(rank, ranks, *words), folder / host.name / "probe", prefix=_within(group, host.inside))
            for rank, (host, group) in enumerate(zip(hosts.hosts, groups, strict=True))
        ]
        probed, *_ = [command.wait(_LIMIT_S) for command in probes]
        assert probed.code == 0, probed.said
        program = "import sys; from benchmarks import plan_links; plan_links.rank(*sys.argv[1:])"
        path = f"{_ROOT / 'scripts'}:{_ROOT}"
        commands = [
            Command(
                (sys.executable, "-c", program, str(rank), str(ranks), hosts.hosts[0].address),
                folder / host.name / "train",
                {"PYTHONPATH": path, "GLOO_SOCKET_IFNAME": "eth0"},
                _within(group, host.inside),
            )
            for rank, (host, group) in enumerate(zip(hosts.hosts, groups, strict=True))
        ]
        ended = [command.wait(_LIMIT_S) for command in commands]
        assert not any(one.code for one in ended), [one.said for one in ended]
        rows = [json.loads(line) for line in ended[0].stdout.splitlines() if line.startswith("{")]
        return {"ranks": ranks, "rate": rate, "probe": probed.document, "trainings": rows}


def _limited(stack: ExitStack, name: str, share: float) -> Path:
    """A control group whose processes get a share of a processor together."""
    group = _CGROUPS / name
    group.mkdir()
    stack.callback(group.rmdir)
    (group / "cpu.shares").write_text(_BEFORE_OTHERS)
    (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
    (group / "cpu.cfs_quota_us").write_text(str(int(share * _PERIOD_US)))
    return group


def _within(group: Path, argv: Sequence[str]) -> tuple[str, ...]:
    """What to put before a command: inside of a network namespace, groups cannot be seen."""
    return ("bash", "-c", 'echo $$ > "$0"; exec "$@"', str(group / "cgroup.procs"), *argv)


def rank(number: str, ranks: str, first: str) -> None:
    """One of the ranks, on its host: each model and strategy, a line for each."""
    import torch
    import torch.distributed as dist

    from nccltool.train.job import TrainSpec
    from nccltool.worker.channel import Channel
    from nccltool.worker.progress_page import ProgressPage
    from nccltool.worker.rank.fault import FaultInjector
    from nccltool.worker.rank.tools import RankTools
    from nccltool.worker.train import strategies, timed_steps
    from nccltool.worker.train.strategies.base import Setup

    torch.set_num_threads(1)
    mine, world, wait = int(number), int(ranks), timedelta(seconds=120)
    store = dist.TCPStore(first, _PORT, world, is_master=mine == 0, timeout=wait)
    dist.init_process_group("gloo", store=store, rank=mine, world_size=world, timeout=wait)
    tools = RankTools(torch.device("cpu"), ProgressPage(), Channel(1, None), FaultInjector(None, mine))
    for name, sizes in MODELS.items():
        spec = TrainSpec(strategies=STRATEGIES, given=tuple(sizes), **sizes)
        alone = _timed(timed_steps.compute_only_step(Setup("ddp", spec, tools)), Setup("ddp", spec, tools))
        for strategy in STRATEGIES:
            setup = Setup(strategy, spec, tools)
            step = timed_steps.stepper(strategies.build(setup))
            row = {
                "model": name,
                "strategy": strategy,
                "alone": alone,
                **_timed(step, setup),
                "calls": _calls(step, setup),
            }
            if mine == 0:
                print(json.dumps(row), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def _timed(step: Any, setup: Any) -> dict[str, Any]:
    """Of the slowest rank in each step; seconds of processors and bytes on the cable are of all, per step."""
    group = setup.group
    for turn in range(WARM_UP):
        step(setup.tokens(turn))
    group.meet()
    sent, worked, times = _sent(), time.process_time_ns(), []
    for turn in range(STEPS):
        tokens = setup.tokens(turn)
        begin = time.perf_counter_ns()
        step(tokens)
        group.settle()
        times.append(time.perf_counter_ns() - begin)
    group.meet()
    rows = group.everybodys([(time.process_time_ns() - worked) // STEPS, (_sent() - sent) // STEPS])
    return {
        "times_s": [one / 1e9 for one in group.maximum(times)],
        "processor_s": [row[0] / 1e9 for row in rows],
        "cable_bytes": [row[1] for row in rows],
    }


def _sent() -> int:
    return int(Path("/sys/class/net/eth0/statistics/tx_bytes").read_text())


def _calls(step: Any, setup: Any) -> dict[str, list[int]]:
    """Operation -> calls and bytes of one step, as torch dispatches them on this rank."""
    from nccltool.worker.plan.counter import Counter

    counter = Counter()
    counter.is_counting = True
    with counter:
        step(setup.tokens(0))
    setup.group.meet()
    found: dict[str, list[int]] = {}
    for call in counter.calls:
        row = found.setdefault(call.operation, [0, 0])
        row[0] += 1
        row[1] += call.bytes
    return found
