"""Rows 9, 10, and 18: everybody has come, and a network, a GPU, or a storage does not do its part."""

from collections import Counter
from collections.abc import Iterator, Sequence

from nccltool.attach.judge import lost_packets
from nccltool.attach.judge.case import Case
from nccltool.attach.judge.result import Culprit
from nccltool.attach.seen.sources import GpuState

_TROUBLE = (
    "retrans",
    "timeout",
    "unresponsive",
    "link_downed",
    "link_error",
    "symbol_error",
    "impaired",
    "discard",
)
_GPU_LOW, _GPU_BUSY = 0.1, 0.9
_POWER_ODD = 1.5
"""A waiting NCCL kernel spins at low power: a GPU that differs by half of that is not in the same kernel."""
_STORAGE = frozenset(("loader", "loading", "checkpoint", "network"))


def clues(case: Case) -> Iterator[Culprit]:
    yield from _xid(case)
    if case.blocked is True and not case.suspects and not any(view.condition for view in case.views):
        network = tuple(_sockets(case)) or tuple(_counters(case))
        yield from network
        if not network:
            yield from _gpus(case)
    yield from _shared_storage(case)


def _xid(case: Case) -> Iterator[Culprit]:
    if case.blocked is False:
        return
    for host in case.look.hosts:
        lines = [line.text for line in host.kernel if line.kind == "xid"]
        stuck = [
            one.reason for one in host.unread if one.what.startswith("GPU") and "did not return" in one.reason
        ]
        if lines or stuck:
            text = "has a GPU error (Xid)" if lines else "has a driver that does not return"
            told = lines[-3:] or stuck[:1]
            yield case.culprit("gpu", f"{host.host} {text}", *told, host=host.host)


def _sockets(case: Case) -> Iterator[Culprit]:
    """Connections with data that the other end does not acknowledge, sent again between the samples."""
    bad = [(view, socket) for view in case.waiting for socket in lost_packets.between_ranks(view, case.views)]
    if not bad:
        return
    places: Counter[str] = Counter()
    for view, socket in bad:
        places.update({view.found.host, _host_of(case, socket.peer)})
    if len(places) == 1:  # hosts that are namespaces of one, or a loopback
        places = Counter(_address(end) for _, socket in bad for end in (socket.local, socket.peer))
    told = [lost_packets.told(view, socket) for view, socket in bad[:4]]
    ranked = places.most_common(2)
    is_one = len(places) > 2 and ranked[0][1] > ranked[1][1]
    names = " and ".join(sorted(name for name, _ in ranked))
    text = f"packets of {ranked[0][0]} are lost" if is_one else f"packets between {names} are lost"
    yield case.culprit("network", text, *told, host=ranked[0][0] if is_one else "")


def _address(end: str) -> str:
    return end.rpartition(":")[0].strip("[]")


def _host_of(case: Case, peer: str) -> str:
    address = _address(peer)
    hosts = {view.found.host for view in case.views if address in view.found.addresses}
    return next(iter(hosts)) if len(hosts) == 1 else address


def _counters(case: Case) -> Iterator[Culprit]:
    """Error counters that rose on the ports of one host only."""
    rose: dict[str, list[str]] = {}
    for host in case.look.hosts:
        if len(host.samples) < 2:
            continue
        before = {(one.device, one.name): one.value for one in host.samples[0].counters}
        for one in host.samples[-1].counters:
            grown = one.value - before.get((one.device, one.name), one.value)
            if one.device and grown > 0 and any(word in one.name for word in _TROUBLE):
                rose.setdefault(host.host, []).append(f"{host.host} {one.device}: {one.name} rose by {grown}")
    if len(rose) == 1 and len(case.look.hosts) > 1:
        [(name, told)] = rose.items()
        yield case.culprit("network", f"the network port of {name} has errors", *told[:4], host=name)
    elif rose:
        told = [line for lines in rose.values() for line in lines]
        yield case.culprit("network", "network ports have errors", *told[:6], level="medium")


def _gpus(case: Case) -> Iterator[Culprit]:
    """One GPU does not spin in the kernel in which the others wait."""
    seen = [
        (host.host, gpu) for host in case.look.hosts if host.samples for gpu in host.samples[-1].gpus if gpu.pids
    ]
    for host, gpu in seen:
        if gpu.uncorrected_errors:
            told = f"{gpu.uncorrected_errors} uncorrected ECC errors since the driver started"
            yield case.culprit("gpu", f"GPU {gpu.index} of {host} has memory errors", told, host=host, level="low")
    yield from _links(case, seen)
    odd = [(host, gpu) for host, gpu in seen if _is_odd(gpu, [one for _, one in seen])]
    if len(odd) == 1 and len(seen) > 2:
        host, gpu = odd[0]
        told = f"utilization {gpu.utilization or 0:.0%}, {gpu.power_w or 0:.0f} W; the others are fully utilized"
        yield case.culprit(
            "gpu", f"GPU {gpu.index} of {host} differs from the others", told, host=host, level="low"
        )


def _links(case: Case, seen: Sequence[tuple[str, GpuState]]) -> Iterator[Culprit]:
    """A GPU with fewer active NVLinks than all others of its host, or with errors on them."""
    for host, gpu in seen:
        others = {one.links_up for name, one in seen if name == host and one is not gpu}
        if gpu.links_down and len(others) == 1 and gpu.links_up is not None and (most := others.pop()) is not None:
            if gpu.links_up < most:
                told = f"{gpu.links_up} NVLinks are active, and {most} of each other GPU"
                text = f"GPU {gpu.index} of {host} has lost an NVLink"
                yield case.culprit("gpu", text, told, host=host, level="medium")
        elif gpu.link_errors and not any(one.link_errors for name, one in seen if name == host and one is not gpu):
            told = f"{gpu.link_errors} replays and recoveries since the driver started; the others have none"
            yield case.culprit("gpu", f"GPU {gpu.index} of {host} has NVLink errors", told, host=host, level="low")


def _is_odd(gpu: GpuState, everyone: Sequence[GpuState]) -> bool:
    others = [one for one in everyone if one is not gpu]
    if any(one.utilization is None or one.utilization < _GPU_BUSY for one in others) or gpu.utilization is None:
        return False
    powers = sorted(one.power_w for one in others if one.power_w)
    usual = powers[len(powers) // 2] if powers else None
    return gpu.utilization < _GPU_LOW or bool(usual and gpu.power_w and gpu.power_w > _POWER_ODD * usual)


def _shared_storage(case: Case) -> Iterator[Culprit]:
    running = [view for view in case.views if not view.condition]
    if len(running) < 2 or any(phase.kind not in _STORAGE for view in running for phase in view.phases):
        return
    if case.progress.advanced and not case.progress.is_slower:
        return  # they read at the same time, as in every step
    paths = sorted(
        {path for view in running for one in (view.process, *view.loaders) if one and (path := one.waits_on)}
    )
    told = f"all {len(running)} ranks: {', '.join(sorted({view.phase.text for view in running}))}"
    yield case.culprit("shared-storage", "all ranks wait for data or storage", told, *paths[:3])
