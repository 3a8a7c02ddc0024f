"""The order of a measurement that a program asks for, through the options of `nccltool probe`."""

from dataclasses import dataclass
from typing import Literal

from nccltool.core import run_directory
from nccltool.launch.launchers import NAMES as LAUNCHERS
from nccltool.launch.options import StartOptions
from nccltool.launch.order import LaunchOrder
from nccltool.probe import options as probe_options
from nccltool.probe.job import ProbeJob
from nccltool.probe.options import ProbeOptions
from nccltool.probe.run import Probe

__all__ = ["LAUNCHERS", "MeasureOptions", "order", "probe_of"]


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
    ranks = asked.nproc_per_node
    start = StartOptions(
        nodes=asked.nodes,
        nproc_per_node=None if ranks is None else str(ranks),
        hosts=asked.hosts,
        launcher=asked.launcher,
        backend=asked.backend,
        timeout=asked.timeout_s,
        deadline=asked.deadline_s,
    )
    return probe_options.from_options(
        ProbeOptions(
            start=start,
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


def probe_of(order: LaunchOrder[ProbeJob], run_dir: str | None, min_busbw_gb_per_s: float | None) -> Probe:
    return Probe(
        order=order,
        runs_folder=run_directory.base_folder(run_dir),
        min_busbw_gb_per_s=min_busbw_gb_per_s,
        command=("nccltool.api.probe",),
    )
