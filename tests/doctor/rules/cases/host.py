"""Cases of nccltool/doctor/rules/host.py."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Cpu, HostNames, Network
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import METAL, NO_GPUS, ROCE, VM, named, network, nvidia, pci, rdma

_METAL: dict[str, Any] = {"cpu": METAL, "rdma": rdma()}
_VIRTUAL: dict[str, Any] = {"cpu": VM, "rdma": rdma()}
_ROOT_ONLY = Unknown("/sys/bus/pci/devices/0000:00:01.0/config shows 64 of 4096 bytes; reading all needs root")
_LOOP = "127.0.0.1 localhost localhost.localdomain n1"
_LOOPED = named("n1", hosts_lines=(_LOOP,))
_GOVERNED: dict[str, Any] = {"nvidia": nvidia()}
_NICS = tuple(f"ens{number}" for number in range(8))

_NAMELESS = HostNames(hostname="n1", addresses=())

CASES = (
    of(
        "HOST001",
        fires=[
            host(pci=pci(acs=0x1D, adapters=8), **_METAL),
            host(pci=pci(2, acs=0x04), cpu=METAL, rdma=rdma(0)),
        ],
        silent=[
            host(pci=pci(acs=0x01), **_METAL),
            host(pci=pci(acs=None), **_METAL),
            host(pci=pci(acs=0x1D), **_VIRTUAL),
            host(pci=pci(1, acs=0x1D), cpu=METAL, rdma=rdma(0)),
            host(pci=pci(0), **_METAL),
        ],
        unknown=[host(), host(pci=pci(acs=_ROOT_ONLY), **_METAL), host(pci=pci(), rdma=rdma())],
    ),
    of(
        "HOST002",
        fires=[host(pci=pci(kinds=("DMA-FQ",)), **_METAL), host(pci=pci(kinds=("DMA", "identity")), **_METAL)],
        silent=[
            host(pci=pci(kinds=("identity",)), **_METAL),
            host(pci=pci(), **_METAL),
            host(pci=pci(kinds=("DMA",)), **_VIRTUAL),
            host(pci=pci(1, kinds=("DMA",)), cpu=METAL, rdma=rdma(0)),
        ],
        unknown=[host(), host(pci=pci(kinds=Unknown("/sys/kernel/iommu_groups cannot be read")), **_METAL)],
    ),
    of(
        "HOST003",
        fires=[host(names=_LOOPED), host(names=named("n1", hosts_lines=("127.0.1.1 localhost n1",)))],
        silent=[
            host(names=named()),
            host(names=named("n1", hosts_lines=("127.0.1.1 n1",))),
            host(names=named("n1", hosts_lines=("127.0.1.1 n1.cluster n1",))),
            host(names=named("n1", hosts_lines=("10.0.0.1 n1", _LOOP))),
            host(names=_LOOPED, nodes=1),
            host(names=named("localhost", hosts_lines=("127.0.0.1 localhost",))),
        ],
        unknown=[host(), host(names=_LOOPED, nodes=None)],
    ),
    of(
        "HOST004",
        fires=[host(names=_NAMELESS, nodes=nodes) for nodes in (2, 1, None)],
        silent=[host(names=named()), host(names=_NAMELESS, nodes=1, local_ranks=1)],
        unknown=[host()],
    ),
    of(
        "HOST005",
        fires=[host(cpu=Cpu(governors=("performance", "powersave")), **_GOVERNED)],
        silent=[
            host(cpu=Cpu(governors=("performance",)), **_GOVERNED),
            host(cpu=Cpu(governors=()), **_GOVERNED),
            host(cpu=Cpu(governors=("powersave",)), nvidia=NO_GPUS),
        ],
        unknown=[host(), host(**_GOVERNED)],
    ),
    of(
        "HOST006",
        fires=[host(nvidia=nvidia(), rdma=rdma(8, ROCE), network=network(*_NICS, mtu=1500))],
        silent=[
            host(nvidia=nvidia(), rdma=rdma(8, ROCE), network=network(*_NICS)),
            host(nvidia=nvidia(), rdma=rdma(), network=network(*_NICS, mtu=1500)),
            host(nvidia=nvidia(), rdma=rdma(8, ROCE, active=0), network=network(*_NICS, mtu=1500)),
            host(nvidia=NO_GPUS),
        ],
        unknown=[host(), host(nvidia=nvidia()), host(nvidia=nvidia(), rdma=rdma(8, ROCE))],
    ),
    of(
        "HOST007",
        fires=[
            (host(network=network("eth0")), host(network=network("eth0", mtu=1500), host="n2")),
            (host(network=network("eth0")), host(network=network("eth0", mtu=1500), host="n2"), UNREAD),
        ],
        silent=[
            (host(network=network("eth0")), host(network=network("eth0"), host="n2")),
            (host(network=network("eth0")), host(network=network("ens3", mtu=1500), host="n2")),
        ],
        unknown=[(host(), host(network=Network(interfaces=Unknown("no /sys")), host="n2"))],
    ),
)
