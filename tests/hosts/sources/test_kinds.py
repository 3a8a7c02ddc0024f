"""What is read out of trees of every kind of host: whole values."""

import pytest
from msgspec.structs import replace as changed

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Address, Cloud, Gid, Interface, PciDevice, RdmaDevice, RdmaPort, Setting, known
from tests import captured_hosts

VIRTUAL = Unknown("virtual")
NO_SUCH = "cannot be read: No such file or directory"


def test_an_interface_with_hardware() -> None:
    assert captured_hosts.captured("ib").network.interface("eno1") == Interface(
        name="eno1",
        index=2,
        flags=0x1003,
        up=True,
        running=True,
        loopback=False,
        point_to_point=False,
        operstate="up",
        carrier=True,
        carrier_changes=2,
        mtu=1500,
        speed_mbps=10000,
        arp_type=1,
        virtual=False,
        driver="ixgbe",
        vendor="0x8086",
        device="0x1563",
        pci="0000:f4:00.0",
        numa_node=0,
    )


def test_interfaces_without_hardware() -> None:
    network = captured_hosts.captured("laptop").network
    lo, bridge = network.interface("lo"), network.interface("docker0")
    assert lo is not None
    assert bridge is not None
    assert (lo.loopback, lo.running, lo.mtu, lo.arp_type, lo.virtual) == (True, True, 65536, 772, True)
    assert (bridge.kind, bridge.up, bridge.running, bridge.operstate) == ("bridge", True, False, "down")
    assert bridge.driver == bridge.pci == bridge.numa_node == VIRTUAL


def test_addresses_of_a_captured_tree_are_told_by_routes() -> None:
    assert known(captured_hosts.captured("laptop").network.addresses) == (
        Address(interface="lo", address="127.0.0.1", prefix_len=8, family="AF_INET"),
        Address(interface="wlp0s20f3", address="192.168.1.20", prefix_len=24, family="AF_INET"),
        Address(interface="docker0", address="172.17.0.1", prefix_len=16, family="AF_INET"),
        Address(interface="virbr0", address="192.168.122.1", prefix_len=24, family="AF_INET"),
        Address(interface="lo", address="::1", prefix_len=128, family="AF_INET6"),
    )
    why = "the routes do not show which interface has 10.3.0.1"  # a /32, as clouds give them
    assert captured_hosts.captured("gcp").network.addresses == Unknown(why)


def test_a_roce_device() -> None:
    device = known(captured_hosts.captured("roce").rdma.devices)[3]
    assert changed(device, ports=()) == RdmaDevice(
        name="mlx5_3",
        ports=(),
        node_type="1: CA",
        node_guid="a088:c203:00aa:0003",
        sys_image_guid="a088:c203:00aa:0003",
        fw_ver="28.43.2026",
        board_id="MT_0000000838",
        hca_type="MT4129",
        driver="mlx5_core",
        vendor="0x15b3",
        device="0x1021",
        pci="0000:35:03.0",
        numa_node=0,
        uverbs="uverbs3",
        virtual_function=False,
        netdevs=("ens3np0",),
    )
    local, mapped = "fe80:0000:0000:0000:bae9:24ff:fe00:0001", "0000:0000:0000:0000:0000:ffff:0a01:0301"
    assert known(device.ports) == (
        RdmaPort(
            number=1,
            state="ACTIVE",
            phys_state="LinkUp",
            link_layer="Ethernet",
            rate_gbps=400.0,
            width="4X",
            lid=0,
            sm_lid=0,
            pkeys=(0xFFFF,),
            gids=tuple(
                Gid(index=index, gid=gid, type=kind, netdev="ens3np0")
                for index, (gid, kind) in enumerate(
                    (gid, kind) for gid in (local, mapped) for kind in ("IB/RoCE v1", "RoCE v2")
                )
            ),
            gid_slots=8,
            traffic_class="",
            counters=tuple(
                Setting(name=name, value="0") for name in ("symbol_error", "link_downed", "out_of_sequence")
            ),
        ),
    )


def test_an_infiniband_port() -> None:
    port = known(known(captured_hosts.captured("ib").rdma.devices)[7].ports)[0]
    assert (port.link_layer, port.lid, port.sm_lid, port.gid_slots) == ("InfiniBand", 8, 1, 2)
    (gid,) = known(port.gids)
    assert (gid.index, gid.gid, gid.type) == (0, "fe80:0000:0000:0000:a088:c203:00aa:0007", "IB/RoCE v1")
    assert isinstance(gid.netdev, Unknown)


def test_an_efa_device() -> None:
    host = captured_hosts.captured("aws")
    device = known(host.rdma.devices)[0]
    (port,) = known(device.ports)
    assert (device.driver, device.vendor, port.link_layer) == ("efa", "0x1d0f", "Unspecified")
    assert port.rate_gbps == Unknown("an old efa driver reports 100 Gb/s for every device")
    (plugin,) = known(host.plugins)
    assert (plugin.name, plugin.library.origin) == ("libnccl-net.so", "ldconfig")
    assert known(plugin.symbols) == ("ncclCollNetPlugin_v9", "ncclNetPlugin_v10", "ncclNetPlugin_v9")
    assert host.versions.libfabric == "/opt/amazon/efa/lib64/libfabric.so.1"


def test_a_gpu_in_the_tree_of_pci() -> None:
    devices = {one.address: one for one in known(captured_hosts.captured("ib").pci.devices)}
    assert devices["0000:43:00.0"] == PciDevice(
        address="0000:43:00.0",
        class_code=0x030200,
        vendor="0x10de",
        device="0x2335",
        driver="nvidia",
        numa_node=1,
        local_cpus="96-191",
        link_gts=32.0,
        link_width=16,
        max_link_gts=32.0,
        max_link_width=16,
        upstream=("0000:40:01.0", "0000:41:00.0", "0000:42:00.0"),
        acs_control=None,
        ats_enabled=None,
        iommu_group="",
        virtual_function=False,
        hidden_config=False,
    )
    assert devices["0000:45:04.0"].upstream == devices["0000:43:00.0"].upstream  # the NIC beside it
    bridges = [one for one in devices.values() if one.is_bridge]
    assert (len(bridges), {one.acs_control for one in bridges}) == (24, {0})


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("aws", "aws"),
        ("gcp", "gcp"),
        ("p5", "aws"),
        ("a3-mega", "gcp"),
        ("a4", "gcp"),
        ("azure", "azure"),
        ("gb200", None),
        ("wsl2", Unknown("no DMI data in /sys/class/dmi/id")),
        ("ib", None),
        ("laptop", None),
        ("container", Unknown("no DMI data in /sys/class/dmi/id")),
    ],
)
def test_the_cloud(name: str, provider: str | Unknown | None) -> None:
    assert captured_hosts.captured(name).cloud.provider == provider


def test_a_cloud_is_told_by_its_own_mark() -> None:
    azure = captured_hosts.KINDS["ib"]
    assert captured_hosts.captured("aws").cloud == Cloud(
        provider="aws",
        sys_vendor="Amazon EC2",
        product_name="p5.48xlarge",
        product_version=Unknown(f"/sys/class/dmi/id/product_version {NO_SUCH}"),
        board_name=Unknown(f"/sys/class/dmi/id/board_name {NO_SUCH}"),
        chassis_asset_tag="Amazon EC2",
        bios_vendor=Unknown(f"/sys/class/dmi/id/bios_vendor {NO_SUCH}"),
        bios_version=Unknown(f"/sys/class/dmi/id/bios_version {NO_SUCH}"),
    )
    assert azure.dmi["sys_vendor"] == "Supermicro"


def test_a_container() -> None:
    host = captured_hosts.captured("container")
    assert (host.container.inside, host.container.runtime) == (True, "kubernetes")
    assert (host.container.pid_namespace, host.container.seccomp, host.container.evidence) == (
        True,
        2,
        "KUBERNETES_SERVICE_HOST",
    )
    assert (host.limits.memlock_soft_bytes, host.limits.nofile_soft, host.shm.size_bytes) == (
        65536,
        1024,
        64 << 20,
    )
    assert host.rdma.devices == Unknown(f"/sys/class {NO_SUCH}")
    assert host.services.running == Unknown("the host's daemons are in another PID namespace")


def test_a_laptop_has_no_gpu_and_shows_no_configuration_space() -> None:
    host = captured_hosts.captured("laptop")
    assert (host.nvidia.driver, host.nvidia.gpus, host.nvidia.visible_gpus) == ("", (), 0)
    assert host.rdma.devices == ()
    (wifi,) = known(host.pci.devices)
    assert (wifi.hidden_config, isinstance(wifi.acs_control, Unknown)) == (True, True)


def test_the_driver_of_gpus() -> None:
    nvidia = captured_hosts.captured("ib").nvidia
    assert (nvidia.driver, nvidia.flavour, nvidia.visible_gpus) == ("570.124.06", "open", 8)
    assert nvidia.memory_peers == ("nv_mem",)
    gpu = known(nvidia.gpus)[2]
    assert (gpu.pci, gpu.minor, gpu.name, gpu.vbios) == ("0000:23:00.0", 2, "NVIDIA H200", "96.00.bc.00.01")
    assert gpu.nvlinks == Unknown("only NVML reports it")
