"""Two machines of a kind, judged on published numbers: from their files to the one word of preflight."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts import link_rates, nvlink, published_networks, reader, usable_network
from nccltool.hosts.facts import HostFacts, known
from nccltool.hosts.nccl import settings
from nccltool.hosts.nccl.host import NcclHost
from nccltool.hosts.usable_network import UsableNetwork
from nccltool.launch.events import RankFacts
from nccltool.preflight import host_verdicts, probe_run, suite_reader
from nccltool.preflight.probe_run import ProbePart
from nccltool.preflight.stage_run import StageRun
from nccltool.preflight.suite import fitting, with_platform
from nccltool.probe import transport
from nccltool.probe.result import Measurement, Run
from tests import samples
from tests.captured_hosts import KINDS, build, healthy
from tests.preflight.samples import ran

MIB, GIB = 1 << 20, 1 << 30
OPS = ("all_reduce", "all_gather")


def network(root: Path, kind: str) -> UsableNetwork:
    """What a rank there finds: the files of the machine, and what NVML says."""
    described = KINDS[kind]
    build(root, described)
    found = reader.network_facts(described.env, root)
    live = healthy(kind)  # what no file tells
    found = msgspec.structs.replace(found, network=live.network, nvidia=live.nvidia)
    host = NcclHost(settings=settings.of(found, None), facts=found)
    shown = usable_network.of_nccl(host, link_rates.ethernet(root), link_rates.rdma(root))
    return replace(shown, domain=nvlink.domain(live.nvidia, host.settings))


def ranks(kind: str) -> list[RankFacts]:
    """One for each GPU of two such machines."""
    count = KINDS[kind].gpus
    return [
        replace(
            samples.facts(0),
            rank=rank,
            node_rank=rank // count,
            local_rank=rank % count,
            world_size=2 * count,
            host=f"n{rank // count + 1}",
            host_id=f"boot-{rank // count}",
            gpu=f"GPU-{rank}",
            gpu_name=KINDS[kind].gpu,
        )
        for rank in range(2 * count)
    ]


def run_of(kind: str, found: UsableNetwork, gigabytes: Mapping[str, tuple[float, float]]) -> Run:
    """Busbw of each operation at 8 MiB and 1 GiB, beside the limits of these machines."""
    world = ranks(kind)
    limits = transport.limits(OPS, "nccl", world, {"boot-0": found, "boot-1": found})
    of = {row.op: row.busbw_bytes_per_s for row in limits.rows}
    rows = tuple(
        row(op, size, busbw * 1e9, of.get(op))
        for op, pair in gigabytes.items()
        for size, busbw in zip((8 * MIB, GIB), pair, strict=True)
    )
    info = samples.info(
        backend="nccl",
        emulated=False,
        nodes=2,
        world_size=len(world),
        hosts=("n1", "n2"),
        limit_source=limits.source,
        limit_unknown_reason=limits.unknown_reason,
    )
    return replace(samples.good_run(), info=info, measurements=rows, findings=())


def row(op: str, size: int, busbw: float, limit: float | None) -> Measurement:
    return samples.measurement(
        late_ranks=(),
        op=op,
        bytes=size,
        busbw_bytes_per_s=busbw,
        algbw_bytes_per_s=busbw / 2,
        limit_busbw_bytes_per_s=limit,
    )


def judged(facts: HostFacts, ran: StageRun, platform: str = "") -> tuple[str, int, dict[str, str]]:
    """(status, exit code, what came of each number)."""
    suite = suite_reader.read(suite_reader.find("preflight"))
    named = suite_reader.read_platform(suite_reader.find(platform, "platform")) if platform else None
    if chosen := named or fitting(suite_reader.platforms(), (facts, facts)):
        suite = with_platform(suite, chosen)
    part = suite.parts["across"]
    assert isinstance(part, ProbePart)
    outcomes = tuple(probe_run.judged(ran, part))
    verdict = host_verdicts.verdict(outcomes, interrupted=False)
    told: dict[str, str] = {
        one.code.removeprefix("across/"): one.status for one in outcomes if one.status != "skip"
    }
    return verdict.status, verdict.exit_code, told


P5 = {"all_reduce": (60.0, 437.0), "all_gather": (55.0, 380.0)}
DGX = {"all_reduce": (80.0, 449.5), "all_gather": (70.0, 360.0)}
MEGA = {"all_reduce": (20.0, 150.0), "all_gather": (20.0, 182.0)}
MI300X = {"all_reduce": (50.0, 350.0), "all_gather": (50.0, 340.0)}
RACK = {"all_reduce": (150.0, 681.0), "all_gather": (140.0, 600.0)}
"""all_reduce of p5 as AWS publishes it, of DGX as Oracle does for the same parts, of a rack as CoreWeave does for
72 GPUs, of MI300X as Oracle asks for; all_gather of A3 Mega as Google publishes it. What nobody publishes is in
between."""
ENDED = {"completed": "pass", "data": "pass", "late": "pass"}


def share(numbers: Mapping[str, tuple[float, float]], of: float) -> dict[str, tuple[float, float]]:
    return {op: (small * of, large * of) for op, (small, large) in numbers.items()}


@pytest.mark.parametrize(
    ("kind", "gigabytes", "status", "code", "told"),
    [
        ("p5", P5, "pass", 0, {"all_reduce-share_of_limit": "pass", "all_reduce-busbw-1GiB": "pass"}),
        ("p5", share(P5, 0.5), "fail", 1, {"all_reduce-share_of_limit": "fail", "all_reduce-busbw-1GiB": "fail"}),
        ("dgx", DGX, "pass", 0, {"all_reduce-share_of_limit": "pass"}),
        ("dgx-ib-storage", DGX, "pass", 0, {"all_reduce-share_of_limit": "pass"}),
        ("dgx", share(DGX, 0.5), "fail", 1, {"all_reduce-share_of_limit": "fail"}),
        ("azure", DGX, "pass", 0, {"all_reduce-share_of_limit": "pass"}),
        ("a4", DGX, "pass", 0, {"all_reduce-share_of_limit": "pass"}),
        ("a3-mega", MEGA, "pass", 0, {"all_reduce-share_of_limit": "pass", "all_gather-busbw-1GiB": "pass"}),
        (
            "a3-mega",
            share(MEGA, 0.5),
            "fail",
            1,
            {"all_reduce-share_of_limit": "fail", "all_gather-busbw-1GiB": "warn"},
        ),
        ("mi300x", MI300X, "pass", 0, {"all_reduce-share_of_limit": "pass"}),
        ("mi300x", share(MI300X, 0.5), "fail", 1, {"all_reduce-share_of_limit": "fail"}),
        ("gb200", RACK, "pass", 0, {"all_reduce-share_of_limit": "pass"}),
        ("gb200", share(RACK, 0.5), "fail", 1, {"all_reduce-share_of_limit": "fail"}),
    ],
)
def test_two_machines(
    tmp_path: Path,
    kind: str,
    gigabytes: Mapping[str, tuple[float, float]],
    status: str,
    code: int,
    told: dict[str, str],
) -> None:
    run = run_of(kind, network(tmp_path, kind), gigabytes)
    assert run.info.limit_unknown_reason is None
    assert judged(healthy(kind), ran(run)) == (status, code, ENDED | told)


@pytest.mark.parametrize(
    ("platform", "gigabytes", "status", "code", "told"),
    [
        ("aws-p5", P5, "pass", 0, {"all_reduce-busbw-1GiB": "pass"}),
        ("aws-p5", share(P5, 0.5), "fail", 1, {"all_reduce-busbw-1GiB": "fail"}),
        ("", P5, "unknown", 4, {"all_reduce-share_of_limit": "unknown"}),
    ],
)
def test_where_the_maker_is_hidden_the_floor_of_a_platform_that_is_named_is_judged(
    tmp_path: Path,
    platform: str,
    gigabytes: Mapping[str, tuple[float, float]],
    status: str,
    code: int,
    told: dict[str, str],
) -> None:
    hidden = UsableNetwork(text="rdmap79s0:1: rate cannot be read")
    run = run_of("p5", hidden, gigabytes)
    no_dmi = msgspec.structs.replace(
        healthy("p5").cloud, provider=Unknown("hidden"), product_name=Unknown("hidden")
    )
    facts = msgspec.structs.replace(healthy("p5"), cloud=no_dmi)
    assert published_networks.of_host(facts) is None
    assert judged(facts, ran(run), platform) == (status, code, ENDED | told)


def test_trays_of_which_nobody_knows_whether_nvlink_connects_them(tmp_path: Path) -> None:
    found = network(tmp_path, "gb200")
    blind = msgspec.structs.replace(healthy("gb200").nvidia, imex_channels=())
    run = run_of("gb200", replace(found, domain=nvlink.domain(blind, settings.build({}))), RACK)
    assert run.info.limit_unknown_reason == (
        "NVLink may connect the GPUs of several hosts: no usable IMEX channel, which NVLink between hosts needs"
    )
    assert judged(healthy("gb200"), ran(run))[:2] == ("unknown", 4)


def test_trays_of_two_racks_are_held_against_their_network(tmp_path: Path) -> None:
    found = network(tmp_path, "gb200")
    apart = {
        f"boot-{number}": replace(found, domain=nvlink.NvLinkDomain(name=f"rack-{number}", text=""))
        for number in range(2)
    }
    limits = transport.limits(OPS, "nccl", ranks("gb200"), apart)
    per_host = len(known(healthy("gb200").rdma.devices)) * 50e9
    assert limits.rows[0].busbw_bytes_per_s == pytest.approx(per_host * 2 * 7 / 8)
