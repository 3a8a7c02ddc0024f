"""What a rank sees of itself: the facts of its hello."""

import os
import platform
import socket

import torch
import torch.distributed as dist

from nccltool import __version__
from nccltool.core import versions
from nccltool.hosts import link_rates, usable_network
from nccltool.hosts.nccl import settings
from nccltool.hosts.nccl.host import NcclHost
from nccltool.hosts.reader import network_facts
from nccltool.hosts.sources import net
from nccltool.hosts.usable_network import UsableNetwork
from nccltool.launch.events import RankFacts
from nccltool.launch.inside import RankPlace

_RESOLVE_S = 0.5


def facts(place: RankPlace) -> RankFacts:
    """The facts of this rank. Touches CUDA only where a device is."""
    gpu, gpu_name = _gpu(place)
    host = socket.gethostname()
    return RankFacts(
        rank=place.rank,
        node_rank=place.node_rank,
        local_rank=place.local_rank,
        world_size=place.world_size,
        host=host,
        host_id=net.host_id(),
        pid=os.getpid(),
        python=platform.python_version(),
        torch=str(torch.__version__),
        nccl=_nccl_version(),
        nccltool=__version__,
        gpu=gpu,
        gpu_name=gpu_name,
        host_addresses=net.resolve(host, _RESOLVE_S),
    )


def network(backend: str) -> UsableNetwork:
    """The network of this host, as `backend` uses it now that the group is set up."""
    if backend == "gloo":
        return usable_network.of_gloo(os.environ.get("GLOO_SOCKET_IFNAME", ""), link_rates.ethernet())
    found = network_facts(os.environ)
    host = NcclHost(settings=settings.of(found, versions.parse(_nccl_version() or "")), facts=found)
    return usable_network.of_nccl(host, link_rates.ethernet(), link_rates.rdma())


def _gpu(place: RankPlace) -> tuple[str | None, str | None]:
    index = place.device(torch.cuda.device_count()) if torch.cuda.is_available() else None
    if index is None:
        return None, None
    properties = torch.cuda.get_device_properties(index)
    uuid = getattr(properties, "uuid", None)  # torch >= 2.5
    return str(uuid or f"device {index}"), str(properties.name)


def _nccl_version() -> str | None:
    if not dist.is_nccl_available() or not torch.cuda.is_available():
        return None
    return ".".join(str(part) for part in torch.cuda.nccl.version())
