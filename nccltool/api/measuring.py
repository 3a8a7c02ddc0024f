"""The order of a measurement that a program asks for, through the options of `nccltool probe` and `pairs`."""

from dataclasses import dataclass
from typing import Literal

from nccltool.core import run_directory
from nccltool.launch.launchers import NAMES as LAUNCHERS
from nccltool.launch.options import StartOptions
from nccltool.launch.order import LaunchOrder
from nccltool.localize.pairs import options as pairs_options
from nccltool.localize.pairs.job import PairOp
from nccltool.localize.pairs.options import PairsOptions
from nccltool.localize.pairs.run import Pairs
from nccltool.probe import options as probe_options
from nccltool.probe.job import ProbeJob
from nccltool.probe.options import ProbeOptions
from nccltool.probe.run import Probe

__all__ = ["LAUNCHERS", "MeasureOptions", "PairMeasureOptions", "order", "pairs_of", "probe_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasureOptions:
    """The parameters of `nccltool.api.probe`."""

    ops: tuple[str, ...]
    sizes: tuple[str, ...] | None
    dtype: str
    reduce_op: str
    placement: Literal["natural", "in-place", "out-of-place", "both"]
    checks: int
    iterations: int | None
    nodes: int | None
    nproc_per_node: int | None
    hosts: str | None
    launcher: str
    backend: str
    timeout_s: float
    deadline_s: float


def order(asked: MeasureOptions) -> LaunchOrder[ProbeJob]:
    """Raises BadInput in the words of the command line."""
    return probe_options.from_options(
        ProbeOptions(
            start=_start(asked),
            ops=",".join(asked.ops),
            min_bytes=None,
            max_bytes=None,
            step_factor=None,
            step_bytes=None,
            sizes=None if asked.sizes is None else ",".join(asked.sizes),
            dtype=asked.dtype,
            reduce_op=asked.reduce_op,
            iterations=asked.iterations,
            warmup=None,
            precision=2.0,
            budget=0.2,
            cadence="stream",
            placement=asked.placement,
            cuda_graph=False,
            checks=asked.checks,
        )
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class PairMeasureOptions:
    """The parameters of `nccltool.api.pairs`."""

    op: PairOp
    size: str | None
    pair_time_s: float
    rounds: int
    all_pairs: bool
    groups: int
    within: bool
    expect: str | None
    topology: str | None
    nodes: int | None
    nproc_per_node: int | None
    hosts: str | None
    launcher: str
    backend: str
    timeout_s: float
    deadline_s: float
    run_dir: str | None


def pairs_of(asked: PairMeasureOptions) -> Pairs:
    """Raises BadInput in the words of the command line."""
    order = pairs_options.from_options(
        PairsOptions(
            start=_start(asked),
            pair_op=asked.op,
            bytes=asked.size,
            rounds=asked.rounds,
            all_pairs=asked.all_pairs,
            groups=asked.groups,
            within=asked.within,
            rails=None,
            isolated=False,
            pair_time=asked.pair_time_s,
            expect=asked.expect,
            topology=asked.topology,
            run_dir=asked.run_dir,
        )
    )
    return Pairs(
        order=order,
        runs_folder=run_directory.base_folder(asked.run_dir),
        min_busbw_gb_per_s=None,
        command=("nccltool.api.pairs",),
    )


def _start(asked: MeasureOptions | PairMeasureOptions) -> StartOptions:
    return StartOptions(
        nodes=asked.nodes,
        nproc_per_node=None if asked.nproc_per_node is None else str(asked.nproc_per_node),
        hosts=asked.hosts,
        launcher=asked.launcher,
        backend=asked.backend,
        timeout=asked.timeout_s,
        deadline=asked.deadline_s,
    )


def probe_of(order: LaunchOrder[ProbeJob], run_dir: str | None, min_busbw_gb_per_s: float | None) -> Probe:
    return Probe(
        order=order,
        runs_folder=run_directory.base_folder(run_dir),
        min_busbw_gb_per_s=min_busbw_gb_per_s,
        command=("nccltool.api.probe",),
    )
