"""What the clouds publish for their machines is neither wrong nor doubtful there."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from nccltool.core.findings import Finding
from nccltool.core.versions import Version
from nccltool.doctor import judge, rules
from nccltool.hosts.facts import Cloud, ConfFile, HostFacts, Interface, known
from tests import captured_hosts
from tests.doctor.rules.parts import GB200, gpu

_FAMILIES = (
    "P2P",
    "SHM",
    "TOP",
    "AFF",
    "NV0",
    "LIM",
    "AWS",
    "GCP",
    "AZ",
    "OCI",
    "CW",
    "CUD",
    "LCH",
    "CON",
    "HOST",
)
"""Those that look at the machine. What a profile sets against general advice is the matter of the others."""
_GIB = "/usr/local/gib"
_A3_ULTRA = {
    "NCCL_NET": "gIB",
    "NCCL_CROSS_NIC": "0",
    "NCCL_NET_GDR_LEVEL": "PIX",
    "NCCL_P2P_NET_CHUNKSIZE": "131072",
    "NCCL_NVLS_CHUNKSIZE": "524288",
    "NCCL_IB_GID_INDEX": "3",
    "NCCL_IB_ADAPTIVE_ROUTING": "1",
    "NCCL_IB_QPS_PER_CONNECTION": "4",
    "NCCL_IB_TC": "52",
    "NCCL_IB_FIFO_TC": "84",
    "NCCL_TUNER_CONFIG_PATH": f"{_GIB}/configs/tuner_config_a3u.txtpb",
    "NCCL_SOCKET_IFNAME": "enp0s19",
}
_A3_MEGA = {
    "NCCL_FASTRAK_CTRL_DEV": "eth0",
    "NCCL_FASTRAK_IFNAME": "eth1,eth2,eth3,eth4,eth5,eth6,eth7,eth8",
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_CROSS_NIC": "0",
    "NCCL_PROTO": "Simple,LL128",
    "NCCL_MIN_NCHANNELS": "4",
    "NCCL_NVLSTREE_MAX_CHUNKSIZE": "131072",
    "NCCL_P2P_NET_CHUNKSIZE": "524288",
    "NCCL_P2P_PCI_CHUNKSIZE": "524288",
    "NCCL_P2P_NVL_CHUNKSIZE": "1048576",
    "NCCL_BUFFSIZE": "8388608",
    "NCCL_NET_GDR_LEVEL": "PIX",
    "NCCL_FASTRAK_NUM_FLOWS": "2",
    "NCCL_FASTRAK_USE_SNAP": "1",
    "NCCL_FASTRAK_USE_LLCM": "1",
    "NCCL_FASTRAK_PLUGIN_ACCEPT_TIMEOUT_MS": "600000",
    "NCCL_FASTRAK_ENABLE_CONTROL_CHANNEL": "0",
    "NCCL_FASTRAK_ENABLE_HOTPATH_LOGGING": "0",
    "NCCL_NVLS_ENABLE": "1",
}
_A3_MEGA_SIMPLE = {**_A3_MEGA, "NCCL_PROTO": "Simple", "NCCL_NVLS_ENABLE": "0"}
_A3_HIGH = {
    "NCCL_NET": "GPUDirectTCPX_v7",
    "NCCL_SOCKET_IFNAME": "eth0",
    "NCCL_CROSS_NIC": "0",
    "NCCL_ALGO": "Ring",
    "NCCL_PROTO": "Simple",
    "NCCL_NET_GDR_LEVEL": "PIX",
    "NCCL_P2P_PXN_LEVEL": "0",
    "NCCL_BUFFSIZE": "4194304",
    "NCCL_DYNAMIC_CHUNK_SIZE": "524288",
    "NCCL_MAX_NCHANNELS": "8",
    "NCCL_MIN_NCHANNELS": "8",
}
_OCI = {
    "NCCL_IB_TC": "41",
    "NCCL_IB_SL": "0",
    "NCCL_IB_GID_INDEX": "3",
    "NCCL_IB_TIMEOUT": "22",
    "NCCL_IGNORE_CPU_AFFINITY": "1",
    "NCCL_CUMEM_ENABLE": "0",
    "NCCL_IB_SPLIT_DATA_ON_QPS": "0",
    "NCCL_IB_QPS_PER_CONNECTION": "1",
    "NCCL_NET_PLUGIN": "none",
    "NCCL_SOCKET_IFNAME": "eno1",
    "NCCL_IB_HCA": "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7",
}
_RACK = {"NCCL_MNNVL_ENABLE": "1", "NCCL_CUMEM_ENABLE": "1", "NCCL_NVLS_ENABLE": "1", "NCCL_NET_GDR_C2C": "1"}
_COREWEAVE = {"NCCL_SOCKET_IFNAME": "eno1", "NCCL_IB_HCA": "mlx5", "NCCL_NET_PLUGIN": "none"}
_COREWEAVE_RACK = {**_RACK, "NCCL_SHM_DISABLE": "0", "NCCL_NET_PLUGIN": "none"}
_AZURE = (
    "NCCL_IB_PCI_RELAXED_ORDERING=1\nNCCL_TOPO_FILE=/opt/microsoft/ndv5/topo.xml\nNCCL_IGNORE_CPU_AFFINITY=1\n"
)
_AWS = {"NCCL_SOCKET_IFNAME": "^docker,lo,veth", "FI_PROVIDER": "efa"}


def _kind(name: str, **given: Any) -> HostFacts:
    return replace(captured_hosts.healthy(name), **given)


def _mega() -> HostFacts:
    base = captured_hosts.healthy("gcp")
    eth = tuple(
        Interface(name=f"eth{n}", driver="gve", up=True, running=True, virtual=False, mtu=8244) for n in range(9)
    )
    files = tuple(
        replace(one, exists=one.path == "/var/lib/tcpxo/lib64") if one.asked_by == "well-known" else one
        for one in base.files
    )
    return replace(base, network=replace(base.network, interfaces=eth), files=files)


def _rack() -> HostFacts:
    base = captured_hosts.healthy("ib")
    gpus = tuple(replace(gpu(n, GB200), pci=one.pci) for n, one in enumerate(known(base.nvidia.gpus)[:4]))
    channel = ("/dev/nvidia-caps-imex-channels/channel0",)
    running = (*known(base.services.running), "nvidia-imex")
    return replace(
        base,
        nvidia=replace(base.nvidia, gpus=gpus, visible_gpus=4, imex_channels=channel),
        services=replace(base.services, running=running),
    )


def _oracle() -> HostFacts:
    return _kind("roce", cloud=Cloud(provider="oci"))


def _azure() -> HostFacts:
    conf = (ConfFile(role="system", path="/etc/nccl.conf", exists=True, text=_AZURE),)
    return _kind("ib", cloud=Cloud(provider="azure"), conf_files=conf)


MACHINES: dict[str, tuple[Callable[[], HostFacts], dict[str, str]]] = {
    "AWS p5": (lambda: _kind("aws"), _AWS),
    "Google A3 Ultra": (lambda: _kind("gcp"), _A3_ULTRA),
    "Google A3 Mega": (_mega, _A3_MEGA),
    "Google A3 Mega, Simple": (_mega, _A3_MEGA_SIMPLE),
    "Google A3 High": (lambda: _kind("gcp", files=()), _A3_HIGH),
    "Azure ND H100 v5": (_azure, {}),
    "Oracle BM.GPU.H100.8": (_oracle, _OCI),
    "Oracle GB200": (_rack, _RACK),
    "CoreWeave H100": (lambda: _kind("ib"), _COREWEAVE),
    "CoreWeave GB200": (_rack, _COREWEAVE_RACK),
}


def _judged(facts: HostFacts, profile: dict[str, str], *families: str) -> list[Finding]:
    host = judge.host_of(replace(facts, env=profile), Version(2, 28, 9), nodes=2)
    chosen = [rule for rule in rules.every() if rule.code.startswith(families)]
    return list(judge.judge([host], chosen).findings)


@pytest.mark.parametrize(("machine", "profile"), MACHINES.values(), ids=MACHINES.keys())
def test_nothing_is_wrong_with_what_a_cloud_publishes(
    machine: Callable[[], HostFacts], profile: dict[str, str]
) -> None:
    found = _judged(machine(), profile, *_FAMILIES)
    assert [f"{one.code} {one.message}" for one in found if one.severity != "info"] == []


@pytest.mark.parametrize(
    ("machine", "code"),
    [(_oracle, "OCI001"), (_mega, "GCP001"), (lambda: replace(_azure(), conf_files=()), "AZ001")],
)
def test_without_the_profile_the_rule_of_the_cloud_speaks(machine: Callable[[], HostFacts], code: str) -> None:
    assert [one.code for one in _judged(machine(), {"NCCL_DEBUG": "WARN"}, code)] == [code]
