"""From the words of `nccltool pairs` to an order; every word that cannot be used is one clear sentence."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from nccltool.core import run_directory
from nccltool.core.errors import BadInput
from nccltool.core.text import counted
from nccltool.core.units import parse_bytes
from nccltool.launch import fault_injection
from nccltool.launch.launchers.base import LaunchPlan
from nccltool.launch.options import StartOptions
from nccltool.launch.order import LaunchOrder, joined, ordered, plan_launch
from nccltool.localize import expectation, numeric, topologies
from nccltool.localize.pairs import rails
from nccltool.localize.pairs.job import PairOp, PairsJob, PairSpec
from nccltool.localize.topology import Topology
from nccltool.probe.dtypes import ELEMENT_SIZE

_ELEMENT = ELEMENT_SIZE["float32"]


@dataclass(frozen=True, kw_only=True, slots=True)
class PairsOptions:
    """The options of `nccltool pairs` as they were given; a field has the name of its option."""

    start: StartOptions
    pair_op: PairOp
    bytes: str | None
    rounds: int
    all_pairs: bool
    groups: int
    within: bool
    rails: str | None
    isolated: bool
    pair_time: float
    expect: str | None
    topology: str | None
    run_dir: str | None


def from_options(options: PairsOptions, env: Mapping[str, str] = os.environ) -> LaunchOrder[PairsJob]:
    """The order that the options of `nccltool pairs` describe. Raises BadInput."""
    numeric.require("pairs")
    start = joined(options.start, env)
    where = plan_launch(start, env)
    _check(options, where)
    job = PairsJob(
        run_id=run_directory.new_id(), pairs=_spec(options, where), fault=_fault(options.start.fault, where)
    )
    return ordered(job, start, where)


def _spec(options: PairsOptions, where: LaunchPlan) -> PairSpec:
    topology = topologies.read(options.topology) if options.topology else Topology()
    runs = run_directory.base_folder(options.run_dir)
    return PairSpec(
        op=options.pair_op,
        bytes=None if options.bytes is None else _size(options.bytes),
        most_rounds=options.rounds,
        is_all_pairs=options.all_pairs,
        group_size=options.groups,
        is_within=options.within,
        rails=() if options.rails is None else rails.parsed(options.rails),
        is_isolated=options.isolated,
        targets=where.targets if options.isolated else (),
        ssh_words=_ssh_words(options.start) if options.isolated and where.targets else (),
        budget_s=options.pair_time,
        leaf_of=dict(topology.leaf_of),
        rails_of=dict(topology.rails_of),
        leaves_by_name=topology.is_by_name,
        expected_busbw_bytes_per_s=None if options.expect is None else expectation.of(options.expect, runs),
    )


def _ssh_words(start: StartOptions) -> tuple[str, ...]:
    words = ["--ssh", start.ssh]
    words += ["--remote-python", start.remote_python] if start.remote_python else []
    words += ["--remote-env", start.remote_env] if start.remote_env else []
    return tuple(words)


def _check(options: PairsOptions, where: LaunchPlan) -> None:
    if options.within and (options.groups > 2 or options.isolated):
        other = "--isolated" if options.isolated else "--groups"
        raise BadInput(f"--within cannot be combined with {other}", "use one or the other")
    if options.within and where.nproc == 1:
        raise BadInput(
            "--within measures pairs of ranks, and each node has one rank", "use --nproc-per-node 2 or more"
        )
    if options.rails is not None:
        _check_rails(options)
    if options.isolated and not (where.emulated or where.targets):
        raise BadInput(
            "--isolated starts a job for each pair from here, and cannot take part in a job of others",
            "name the hosts: --hosts n[01-04] or --hostfile F",
        )
    if options.groups > 2 and options.all_pairs:
        raise BadInput("--groups cannot be combined with --all-pairs", "use one or the other")
    least = 1 if options.within else options.groups
    if where.nodes is not None and where.nodes < least:
        raise BadInput(
            f"{counted(where.nodes, 'node')} cannot "
            + ("form a pair" if least == 2 else f"meet in groups of {least}"),
            "name more nodes: --nodes or --hosts",
        )


def _check_rails(options: PairsOptions) -> None:
    if options.within:
        raise BadInput("--within cannot be combined with --rails", "use one or the other")
    if len(rails.parsed(options.rails or "")) > 1 and options.start.backend != "gloo":
        raise BadInput(
            f"--rails {options.rails}: NCCL chooses its rails once per process",
            "use --backend gloo, or measure one rail per run, then run nccltool localize on the runs together",
        )


def _fault(text: str, where: LaunchPlan) -> str:
    fault = fault_injection.parse(text)
    if fault is not None and fault.action in fault_injection.OF_TRAININGS:
        raise BadInput(
            f"{fault_injection.VARIABLE}: {fault.action} is for nccltool train", "in pairs, use corrupt"
        )
    return fault_injection.checked(text, where.ranks)


def _size(text: str) -> int:
    try:
        size = parse_bytes(text)
    except BadInput as error:
        raise BadInput(f"--bytes: {error.message}", error.remedy) from error
    if size == 0 or size % _ELEMENT:
        raise BadInput(f"--bytes {text}: not a whole number of float32 elements", f"use a multiple of {_ELEMENT}")
    return size
