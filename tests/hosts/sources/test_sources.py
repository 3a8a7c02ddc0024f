"""Each source out of a few files: the cases that whole hosts do not have."""

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import KernelModule, Listener, Route, Setting, known
from nccltool.hosts.sources import (
    container,
    env,
    interfaces,
    limits,
    net,
    nvidia,
    pci,
    rdma,
    software,
    system,
)
from nccltool.hosts.sources import files as host_files
from nccltool.hosts.sources.base import Tree, within
from tests.captured_hosts.formats.binaries import elf

GONE = "cannot be read: No such file or directory"


def tree(root: Path, files: Mapping[str, str | bytes], links: Mapping[str, str] = {}) -> Tree:
    for path, content in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    for path, target in links.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target)
    return Tree.at(root)


class TestBase:
    def test_reads(self, tmp_path: Path) -> None:
        host = tree(
            tmp_path, {"a": " text \n", "b": b"\xff\n", "n": "0x10\n", "long": "x" * (2 << 20)}, {"l": "x/y"}
        )
        assert (host.text("/a"), host.exact("/b"), host.number("/n", 16)) == ("text", "\\xff\n", 16)
        assert host.number("/a") == Unknown("/a contains 'text', not a number")
        assert host.text("/no") == Unknown(f"/no {GONE}")
        assert host.text("/bad\0name") == Unknown("/bad\0name cannot be read: embedded null byte")
        assert len(str(host.text("/long"))) == 1 << 20
        assert (host.link("/l"), host.link_name("/l")) == ("x/y", "y")
        assert (host.exists("/a"), host.exists("/a/b"), host.exists("/no")) == (True, False, False)

    def test_names_are_in_natural_order(self, tmp_path: Path) -> None:
        host = tree(tmp_path, {f"d/mlx5_{n}": "" for n in (10, 2, 1)})
        assert host.names("/d") == ("mlx5_1", "mlx5_2", "mlx5_10")
        assert host.names("/no") == Unknown(f"/no {GONE}")
        assert host.names("/no", absent=()) == ()

    def test_absolute_links_stay_under_the_root(self, tmp_path: Path) -> None:
        host = tree(tmp_path, {"usr/lib/x.so.1": ""}, {"lib/x.so": "/usr/lib/x.so.1", "loop": "loop"})
        assert host.real("/lib/x.so") == "/usr/lib/x.so.1"
        assert host.real("/loop") == Unknown("/loop is a symbolic link loop")
        assert host.real("/no") == Unknown("/no cannot be read: No such file")

    def test_the_root_is_the_live_host(self) -> None:
        assert Tree.at(Path("/")).live
        assert Tree.at(Path("/proc/..")) == Tree("/proc/..")

    def test_within(self) -> None:
        import threading

        never = threading.Event()
        slow = within(0.2, [("one", lambda: 1), ("two", never.wait)])
        assert slow == [1, Unknown("two did not answer within 0.2 s")]
        never.set()


class TestEnv:
    @pytest.mark.parametrize(
        ("name", "kept"),
        [
            ("NCCL_DEBUG", True),
            ("nccl_debug", True),
            ("TORCH_NCCL_ASYNC_ERROR_HANDLING", True),
            ("MASTER_ADDR", True),
            ("LD_LIBRARY_PATH", True),
            ("SLURM_NTASKS", True),
            ("SLURM_JWT", False),
            ("SLURM_JOB_TOKEN", False),
            ("PATH", False),
            ("AWS_SECRET_ACCESS_KEY", False),
            ("HF_TOKEN", False),
            ("TORCH_HUB_TOKEN", False),
            ("UCX_PASSWORD", False),
            ("CUDA_API_KEY", False),
        ],
    )
    def test_what_is_kept(self, name: str, kept: bool) -> None:
        assert (name in env.chosen({name: "1"})) == kept

    def test_of_a_process(self, tmp_path: Path) -> None:
        host = tree(tmp_path, {"proc/7/environ": b"NCCL_A=1=2\0PATH=/bin\0NCCL_B=\xff\0junk\0NCCL_C=\0"})
        assert env.of_process(host, 7) == {"NCCL_A": "1=2", "NCCL_B": "\\xff", "NCCL_C": ""}
        assert env.of_process(host, 8) == Unknown(f"/proc/8/environ {GONE}")


class TestConf:
    def test_the_files_and_what_they_hold(self, tmp_path: Path) -> None:
        files: dict[str, str | bytes] = {
            "etc/nccl.conf": "A=1\r\n#x\n",
            "etc/passwd": "root:x:0:0::/root:/bin/sh\nuser:x:7:7::/home/u:/bin/sh\n",
            "proc/self/status": "Name:\tx\nUid:\t7\t7\t7\t7\n",
            "home/u/.nccl.conf": "B=2\n",
            "job.conf": b"C=\xff\n",
        }
        host = tree(tmp_path, files)
        found = host_files.conf(host, {"NCCL_CONF_FILE": "/job.conf", "HOME": "/elsewhere"}, 5.0)
        assert [(one.role, one.path, one.exists) for one in found] == [
            ("NCCL_CONF_FILE", "/job.conf", True),
            ("home", "/home/u/.nccl.conf", True),
            ("HOME", "/elsewhere/.nccl.conf", False),
            ("system", "/etc/nccl.conf", True),
        ]
        missing = Unknown("does not exist")
        assert [one.text for one in found] == ["C=\\xff\n", "B=2\n", missing, "A=1\r\n#x\n"]

    @pytest.mark.parametrize("path", ["relative.conf", "~/nccl.conf"])
    def test_a_relative_path_is_not_guessed(self, tmp_path: Path, path: str) -> None:
        found = host_files.conf(Tree.at(tmp_path), {"NCCL_CONF_FILE": path}, 5.0)[0]
        assert isinstance(found.exists, Unknown)

    def test_home_in_the_environment_is_the_same_folder(self, tmp_path: Path) -> None:
        host = tree(tmp_path, {"etc/passwd": "u:x:7:7::/h:\n", "proc/self/status": "Uid:\t7\t7\n"})
        assert [one.role for one in host_files.conf(host, {"HOME": "/h/"}, 5.0)] == ["home", "system"]


class TestPaths:
    def test_a_topology_file_is_kept(self, tmp_path: Path) -> None:
        mounts = "1 0 0:1 / / rw - ext4 /dev/a rw\n2 1 0:2 / /data rw - nfs4 srv:/x rw\n"
        host = tree(tmp_path, {"data/t.xml": "<system/>", "proc/self/mountinfo": mounts})
        found = host_files.named(
            host, {"NCCL_TOPO_FILE": "/data/t.xml", "NCCL_DEBUG_FILE": "/data/no/log.%h"}, 5.0
        )
        topo, log = found[:2]
        assert (topo.exists, topo.is_dir, topo.fstype, topo.size_bytes, topo.text) == (
            True,
            False,
            "nfs4",
            9,
            "<system/>",
        )
        assert (log.asked_by, log.exists, log.fstype) == ("NCCL_DEBUG_FILE", False, "nfs4")
        assert [one.path for one in found[2:]] == list(host_files.WELL_KNOWN)


class TestInterfaces:
    NET = "sys/class/net"

    def interface(self, tmp_path: Path, name: str, files: Mapping[str, str], links: Mapping[str, str] = {}) -> Any:
        own = {f"{self.NET}/{name}/{file}": text for file, text in {"ifindex": "3", **files}.items()}
        host = tree(tmp_path, own, {f"{self.NET}/{name}/{link}": target for link, target in links.items()})
        return next(one for one in known(interfaces.read(host).interfaces) if one.name == name)

    def test_a_bond_has_the_sum_of_its_links(self, tmp_path: Path) -> None:
        for member, state in (("p0", "up"), ("p1", "up"), ("p2", "down")):
            files = {f"{self.NET}/{member}/{k}": v for k, v in {"speed": "25000", "operstate": state}.items()}
            tree(tmp_path, {**files, f"sys/devices/{member}/vendor": "0x15b3"})
            (tmp_path / self.NET / member / "device").symlink_to(f"../../../devices/{member}")
        bond = {"bonding/mode": "802.3ad 4", "bonding/slaves": "p0 p1 p2", "operstate": "up"}
        one = self.interface(
            tmp_path, "bond0", bond, {"lower_p0": "../p0", "lower_p1": "../p1", "lower_p2": "../p2"}
        )
        assert (one.kind, one.bond_mode, one.lower) == ("bond", "802.3ad", ("p0", "p1", "p2"))
        assert one.speed_mbps == 50000

    def test_a_circle_of_vlans_ends(self, tmp_path: Path) -> None:
        a = {"uevent": "DEVTYPE=vlan\n"}
        tree(tmp_path, {f"{self.NET}/b/uevent": "DEVTYPE=vlan\n"}, {f"{self.NET}/b/lower_a": "../a"})
        assert self.interface(tmp_path, "a", a, {"lower_b": "../b"}).speed_mbps == Unknown(
            "too many stacked interfaces"
        )

    @pytest.mark.parametrize(
        ("operstate", "carrier", "running"),
        [
            ("up", "1", True),
            ("down", "0", False),
            ("unknown", "1", True),
            ("unknown", "0", False),
            ("dormant", "1", False),
        ],
    )
    def test_running(self, tmp_path: Path, operstate: str, carrier: str, running: bool) -> None:
        one = self.interface(tmp_path, "x", {"operstate": operstate, "carrier": carrier})
        assert one.running is running

    def test_a_master(self, tmp_path: Path) -> None:
        one = self.interface(tmp_path, "p0", {"flags": "0x1803"}, {"master": "../bond0"})
        assert (one.master, one.up, one.running) == ("bond0", True, Unknown(f"/{self.NET}/p0/operstate {GONE}"))

    def test_the_live_order_is_that_of_the_c_library(self) -> None:
        found = interfaces.read(Tree(""))
        assert found.addresses_source == "getifaddrs"
        families = [one.family for one in known(found.addresses)]
        assert families == sorted(families)
        local = [one for one in known(found.addresses) if one.address == "127.0.0.1"]
        assert [(one.interface, one.prefix_len) for one in local] == [("lo", 8)]


class TestSockets:
    def test_routes_and_listeners(self, tmp_path: Path) -> None:
        six = (
            "00000000000000000000000000000000 00 "
            + "0" * 32
            + " 00 fd000000000000000000000000000001 00000400 1 0 3 eth0"
        )
        host = tree(
            tmp_path,
            {
                "proc/net/route": "Iface ...\neth0\t00000000\t010000C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
                "eth0\t000000C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
                "proc/net/ipv6_route": f"{six}\n",
                "proc/net/tcp": "  sl\n 0: 0100007F:6D7C 0:0 0A 0:0 0:0 0 1000 0 1\n"
                " 1: 0100007F:0016 0:0 01 0:0 0:0 0 0 0 1\n",
                "proc/net/tcp6": "  sl\n 0: 00000000000000000000000001000000:0050 0:0 0A 0:0 0:0 0 0 0 1\n",
                "etc/resolv.conf": "# x\nnameserver 1.1.1.1\n; y\nsearch a\n",
            },
        )
        found = interfaces.sockets(host)
        assert found.routes == (
            Route(interface="eth0", destination="0.0.0.0/0", gateway="192.0.0.1", metric=100),
            Route(interface="eth0", destination="192.0.0.0/24"),
            Route(interface="eth0", destination="::/0", gateway="fd00::1", metric=1024),
        )
        assert found.listeners == (
            Listener(address="::1", port=80, uid=0),
            Listener(address="127.0.0.1", port=28028, uid=1000),
        )
        assert found.resolv_conf == "nameserver 1.1.1.1\nsearch a"

    def test_a_router_keeps_its_default_route(self, tmp_path: Path) -> None:
        rows = [f"e\t{n:08X}\t01000000\t0003\t0\t0\t0\tFFFFFFFF\t0\t0\t0" for n in range(1000)]
        rows += ["e\t00000000\t01000000\t0003\t0\t0\t0\t00000000\t0\t0\t0"]
        host = tree(tmp_path, {"proc/net/route": "head\n" + "\n".join(rows)})
        routes = known(interfaces.sockets(host).routes)
        assert (len(routes), routes[0].destination) == (512, "0.0.0.0/0")


class TestRdma:
    @pytest.mark.parametrize(
        ("text", "rate", "width"),
        [
            ("400 Gb/sec (4X NDR)", 400.0, "4X"),
            ("2.5 Gb/sec (1X SDR)", 2.5, "1X"),
            ("100 Gb/sec", 100.0, Unknown("rate '100 Gb/sec' has no width")),
            ("junk", Unknown("rate is 'junk'"), Unknown("rate is 'junk'")),
        ],
    )
    def test_rates(self, text: str, rate: object, width: object) -> None:
        assert rdma.rate_and_width(Tree(""), "/none", text) == (rate, width)

    def test_no_driver_of_an_adapter_is_loaded(self, tmp_path: Path) -> None:
        assert rdma.devices(tree(tmp_path, {"sys/class/net/lo/mtu": "1"})) == ()

    def test_partition_keys_keep_their_index(self, tmp_path: Path) -> None:
        keys = {
            f"sys/class/infiniband/m/ports/1/pkeys/{n}": key
            for n, key in enumerate(("0xffff", "0x0", "0x8001", "0x0"))
        }
        (device,) = known(rdma.devices(tree(tmp_path, keys)))
        assert known(device.ports)[0].pkeys == (0xFFFF, 0, 0x8001)


class TestPci:
    def config(self, *capabilities: tuple[int, int], size: int = 4096) -> bytes:
        space = bytearray(4096)
        at = 0x100
        for number, (name, control) in enumerate(capabilities):
            after = at + 16 if number + 1 < len(capabilities) else 0
            struct.pack_into("<IHH", space, at, name | 1 << 16 | after << 20, 0, control)
            at += 16
        return bytes(space[:size])

    @pytest.mark.parametrize(
        ("config", "control"),
        [
            (((1, 0), (0xD, 0x1D)), 0x1D),
            (((0xD, 0),), 0),
            (((1, 0),), None),
            ((), None),
        ],
    )
    def test_access_control(self, config: tuple[tuple[int, int], ...], control: int | None) -> None:
        assert pci._control(self.config(*config), "a", 0xD) == control

    def test_a_circle_of_capabilities_ends(self) -> None:
        space = bytearray(4096)
        struct.pack_into("<I", space, 0x100, 1 | 0x100 << 20)
        assert pci._control(bytes(space), "a", 0xD) is None

    @pytest.mark.parametrize("size", [0, 64])
    def test_without_root_it_is_not_known(self, size: int) -> None:
        why = f"/sys/bus/pci/devices/a/config shows {size} of 4096 bytes; reading all needs root"
        assert pci._control(self.config(size=size), "a", 0xD) == Unknown(why)

    def test_conventional_pci_has_none(self) -> None:
        assert pci._control(self.config(size=256), "a", 0xD) is None

    def test_a_reset_device_answers_with_ones(self) -> None:
        assert pci._control(b"\xff" * 4096, "a", 0xD) is None

    def test_groups_of_the_iommu(self, tmp_path: Path) -> None:
        device = "sys/bus/pci/devices/0000:01:00.0"
        host = tree(
            tmp_path,
            {f"{device}/class": "0x030200", "sys/kernel/iommu_groups/12/type": "identity\n"},
            {f"{device}/iommu_group": "../../../../kernel/iommu_groups/12"},
        )
        found = pci.read(host)
        assert (found.iommu_groups, found.iommu_types, known(found.devices)[0].iommu_group) == (
            1,
            ("identity",),
            "12",
        )


class TestNvidia:
    @pytest.mark.parametrize(
        ("line", "driver", "flavour"),
        [
            (
                "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.06  Wed Jun 26",
                "535.183.06",
                "proprietary",
            ),
            (
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build",
                "580.65.06",
                "open",
            ),
            ("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  570.86.15  Release", "570.86.15", "open"),
        ],
    )
    def test_versions(self, tmp_path: Path, line: str, driver: str, flavour: str) -> None:
        found = nvidia.nvidia(tree(tmp_path, {"proc/driver/nvidia/version": line}))
        assert (found.driver, found.flavour) == (driver, flavour)

    def test_no_driver_and_no_proc_are_two_things(self, tmp_path: Path) -> None:
        assert isinstance(nvidia.nvidia(Tree.at(tmp_path)).driver, Unknown)
        found = nvidia.nvidia(tree(tmp_path, {"proc/self/status": "x"}))
        assert (found.driver, found.gpus, found.params) == ("", (), ())

    def test_a_gpu_that_was_not_asked_yet(self, tmp_path: Path) -> None:
        base = "proc/driver/nvidia"
        info = "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-????????-????\nDevice Minor: \t 0\n"
        files = {
            f"{base}/version": "NVIDIA UNIX x86_64 Kernel Module  535.1  x",
            f"{base}/gpus/0000:01:00.0/information": info,
        }
        (one,) = known(nvidia.nvidia(tree(tmp_path, files)).gpus)
        assert (one.name, one.minor) == ("NVIDIA H200", 0)
        assert one.uuid == Unknown("/proc/driver/nvidia/gpus has no GPU UUID")

    def test_parameters(self, tmp_path: Path) -> None:
        files = {
            "proc/driver/nvidia/version": "",
            "proc/driver/nvidia/params": 'A: 1\nRegistryDwords: "x=1;y=2"\n',
        }
        found = nvidia.nvidia(tree(tmp_path, files)).params
        assert found == (Setting(name="A", value="1"), Setting(name="RegistryDwords", value="x=1;y=2"))


class TestKernel:
    def test_modules_are_those_that_matter(self, tmp_path: Path) -> None:
        files = {
            "proc/modules": "mlx5_core 1 0 - Live 0x0\nsnd 1 0\n",
            "sys/module/nvidia_peermem/version": "570.1\n",
        }
        found = system.kernel(tree(tmp_path, {**files, "sys/module/mlx5_core/x": ""}))
        assert found.modules == (
            KernelModule(name="mlx5_core"),
            KernelModule(name="nvidia_peermem", version="570.1"),
        )

    def test_each_sysctl_has_its_own_reason(self, tmp_path: Path) -> None:
        found = system.kernel(tree(tmp_path, {"proc/sys/net/core/somaxconn": "4096\n"}))
        assert found.sysctl("net.core.somaxconn") == "4096"
        assert found.sysctl("kernel.numa_balancing") == Unknown(f"/proc/sys/kernel/numa_balancing {GONE}")

    @pytest.mark.parametrize(
        ("files", "arch"),
        [
            ({"proc/sys/kernel/arch": "aarch64\n"}, "aarch64"),
            ({"proc/cpuinfo": "vendor_id\t: x"}, "x86_64"),
            ({"proc/cpuinfo": "CPU implementer\t: 0x41"}, "aarch64"),
            ({"proc/cpuinfo": "?"}, Unknown("not in /proc/cpuinfo")),
        ],
    )
    def test_architectures(self, tmp_path: Path, files: Mapping[str, str], arch: object) -> None:
        assert system.kernel(tree(tmp_path, files)).arch == arch


class TestCpu:
    @pytest.mark.parametrize(
        ("files", "hypervisor"),
        [
            ({"proc/cpuinfo": "flags\t: fpu hypervisor\n"}, True),
            ({"proc/cpuinfo": "flags\t: fpu vmx\n"}, False),
            ({"proc/cpuinfo": "CPU implementer\t: 0x41\n", "sys/class/dmi/id/sys_vendor": "Amazon EC2\n"}, True),
            ({"proc/cpuinfo": "CPU implementer\t: 0x41\n"}, Unknown("this CPU has no flag for it")),
        ],
    )
    def test_hypervisors(self, tmp_path: Path, files: Mapping[str, str], hypervisor: object) -> None:
        assert system.cpu(tree(tmp_path, files)).hypervisor == hypervisor

    def test_governors_and_nodes(self, tmp_path: Path) -> None:
        base = "sys/devices/system"
        files = {
            f"{base}/cpu/cpufreq/policy{n}/scaling_governor": word
            for n, word in enumerate(("powersave", "performance"))
        }
        files |= {
            f"{base}/node/node0/cpulist": "0-3\n",
            f"{base}/node/node1/cpulist": "\n",
            f"{base}/node/online": "0-1",
        }
        found = system.cpu(tree(tmp_path, files))
        assert (found.governors, found.numa_nodes) == (("performance", "powersave"), ("0-3", ""))


class TestLimits:
    @pytest.mark.parametrize(
        ("files", "removes"),
        [
            ({"etc/systemd/logind.conf": "[Login]\n#RemoveIPC=no\n"}, True),
            ({"etc/systemd/logind.conf": "[Login]\nRemoveIPC = No\n"}, False),
            (
                {"etc/systemd/logind.conf": "RemoveIPC=no", "etc/systemd/logind.conf.d/a.conf": "RemoveIPC=yes"},
                True,
            ),
            ({"usr/lib/systemd/logind.conf": "", "usr/lib/systemd/logind.conf.d/a.conf": "RemoveIPC=0"}, False),
            ({}, Unknown("/etc/systemd/logind.conf does not exist")),
        ],
    )
    def test_logind(self, tmp_path: Path, files: Mapping[str, str], removes: object) -> None:
        assert limits.process(tree(tmp_path, files)).remove_ipc == removes

    def test_a_limit_without_limit(self, tmp_path: Path) -> None:
        text = "Limit  Soft Limit  Hard Limit  Units\nMax locked memory    65536    unlimited    bytes\n"
        found = limits.process(tree(tmp_path, {"proc/self/limits": text}))
        assert (found.memlock_soft_bytes, found.memlock_hard_bytes) == (65536, None)
        assert found.nofile_soft == Unknown("/proc/self/limits has no Max open files")


class TestCgroup:
    def test_the_smallest_on_the_way_up_counts(self, tmp_path: Path) -> None:
        base = "sys/fs/cgroup"
        files = {
            "proc/self/cgroup": "0::/a/b\n",
            f"{base}/cgroup.controllers": "cpu",
            f"{base}/a/pids.max": "500\n",
            f"{base}/a/b/pids.max": "max\n",
            f"{base}/a/memory.max": "max\n",
            f"{base}/a/b/memory.max": "1073741824\n",
            f"{base}/a/cpu.max": "200000 100000\n",
            f"{base}/a/b/cpu.max": "max 100000\n",
            f"{base}/a/b/memory.events": "low 0\noom 3\n",
        }
        found = limits.cgroup(tree(tmp_path, files))
        assert (found.cgroup_version, found.pids_max, found.memory_max_bytes) == (2, 500, 1 << 30)
        assert (found.cpu_cores, found.oom_events) == (2.0, 3)

    def test_version_one(self, tmp_path: Path) -> None:
        base = "sys/fs/cgroup"
        files = {
            "proc/self/cgroup": "4:memory:/j\n3:cpu,cpuacct:/j\n2:pids:/../x\n0::/\n",
            f"{base}/memory/j/memory.limit_in_bytes": "9223372036854771712\n",
            f"{base}/memory/memory.limit_in_bytes": "9223372036854771712\n",
            f"{base}/memory/j/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
            f"{base}/cpu/j/cpu.cfs_quota_us": "150000\n",
            f"{base}/cpu/j/cpu.cfs_period_us": "100000\n",
            f"{base}/cpu/cpu.cfs_quota_us": "-1\n",
            f"{base}/cpu/cpu.cfs_period_us": "100000\n",
            f"{base}/pids/x/pids.max": "max\n",
            f"{base}/pids/x/pids.current": "9\n",
        }
        found = limits.cgroup(tree(tmp_path, files))
        assert (found.cgroup_version, found.cgroup_path, found.memory_max_bytes) == (1, "/j", None)
        assert (found.cpu_cores, found.oom_events, found.pids_max, found.pids_current) == (1.5, 2, None, 9)

    def test_nothing_mounted(self, tmp_path: Path) -> None:
        found = limits.cgroup(tree(tmp_path, {"proc/self/cgroup": "0::/\n"}))
        assert found.pids_max == found.cpu_cores == Unknown("no cgroup mounted under /sys/fs/cgroup")


class TestShm:
    @pytest.mark.parametrize(
        ("mount", "fstype", "size"),
        [
            ("9 1 0:9 / /dev/shm rw - tmpfs shm rw,size=65536k", "tmpfs", 64 << 20),
            ("9 1 0:9 / /dev/shm rw - tmpfs shm rw,size=1g,inode64", "tmpfs", 1 << 30),
            ("9 1 0:9 / /dev/shm rw - tmpfs shm rw", "tmpfs", Unknown("the /dev/shm mount has no size option")),
            ("9 1 0:9 / /x rw - tmpfs shm rw", *[Unknown("nothing mounted at /dev/shm")] * 1,
             Unknown("the /dev/shm mount has no size option")),
        ],
    )  # fmt: skip
    def test_captured(self, tmp_path: Path, mount: str, fstype: object, size: object) -> None:
        found = limits.shared_memory(tree(tmp_path, {"proc/self/mountinfo": f"{mount}\n"}))
        assert (found.fstype, found.size_bytes) == (fstype, size)

    def test_live(self) -> None:
        found = limits.shared_memory(Tree(""))
        assert known(found.size_bytes) >= known(found.free_bytes) >= 0
        assert isinstance(found.nccl_files, tuple | Unknown)

    def test_files_of_dead_jobs(self) -> None:
        left = Path("/dev/shm/nccl-test-of-facts")
        left.write_bytes(b"x" * 10)
        try:
            found = known(limits.shared_memory(Tree("")).nccl_files)
        finally:
            left.unlink()
        (ours,) = [one for one in found if one.name == left.name]
        assert (
            ours.size_bytes,
            ours.mapped in (False, Unknown("other users' processes are not readable")),
        ) == (10, True)


class TestContainer:
    @pytest.mark.parametrize(
        ("files", "runtime"),
        [
            ({"proc/self/cgroup": "0::/\n"}, ""),
            ({".dockerenv": "", "proc/self/cgroup": "0::/\n"}, "docker"),
            ({"run/.containerenv": ""}, "podman"),
            ({"run/systemd/container": "systemd-nspawn\n"}, "systemd-nspawn"),
            ({"run/systemd/container": "wsl\n"}, "other"),
            ({"proc/self/cgroup": "12:pids:/kubepods/burstable/pod1\n"}, "kubernetes"),
            (
                {"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": "1 0 0:1 / / rw - overlay overlay rw\n"},
                "other",
            ),
        ],
    )
    def test_runtimes(self, tmp_path: Path, files: Mapping[str, str], runtime: str) -> None:
        found = container.read(tree(tmp_path, files), {}, 5.0)
        assert (found.runtime, found.inside) == (runtime, runtime != "")

    def test_what_this_user_may(self, tmp_path: Path) -> None:
        status = "Uid:\t1000\t1000\nCapEff:\t0000000000004000\nSeccomp:\t2\nNoNewPrivs:\t1\n"
        host = tree(
            tmp_path, {"proc/self/status": status, "proc/self/uid_map": "0 1000 1\n", "dev/infiniband/uverbs0": ""}
        )
        (tmp_path / "dev/infiniband/uverbs0").chmod(0o644)
        found = container.read(host, {}, 5.0)
        assert (found.uid, found.capabilities, found.seccomp, found.no_new_privs) == (1000, 1 << 14, 2, True)
        assert found.user_namespace is True
        device = found.device("/dev/infiniband/uverbs0")
        assert device is not None
        assert (device.readable, device.writable) == (True, False)

    def test_live(self) -> None:
        found = container.read(Tree(""), {}, 5.0)
        assert isinstance(found.mempolicy, bool)
        assert isinstance(found.capabilities, int)


class TestNames:
    FILES: Mapping[str, str] = {
        "proc/sys/kernel/hostname": "n1\n",
        "etc/hosts": "127.0.0.1 localhost\n127.0.1.1 n1 n1.lan # own\n10.0.0.9 head\n10.0.0.8 other\n",
        "etc/nsswitch.conf": "hosts:   files   dns\n",
    }

    def test_a_captured_tree_asks_its_own_file(self, tmp_path: Path) -> None:
        found = net.read(tree(tmp_path, self.FILES), {"MASTER_ADDR": "head"}, 1.0)
        assert (found.hostname, found.addresses, found.master_addr) == ("n1", ("127.0.1.1",), ("10.0.0.9",))
        assert found.hosts_lines == ("127.0.0.1 localhost", "127.0.1.1 n1 n1.lan", "10.0.0.9 head")
        assert found.nsswitch_hosts == "hosts: files dns"

    @pytest.mark.parametrize("master", ["10.1.1.1", "fd00::1"])
    def test_an_address_is_its_own_answer(self, tmp_path: Path, master: str) -> None:
        assert net.read(tree(tmp_path, self.FILES), {"MASTER_ADDR": master}, 1.0).master_addr == (master,)

    def test_no_name_server_is_asked_for_a_captured_tree(self, tmp_path: Path) -> None:
        found = net.read(tree(tmp_path, self.FILES), {"MASTER_ADDR": "nowhere"}, 1.0)
        assert found.master_addr == Unknown("/etc/hosts does not have 'nowhere', and a captured tree has no DNS")

    def test_live(self) -> None:
        found = net.read(Tree(""), {"MASTER_ADDR": "localhost"}, 10.0)
        assert "127.0.0.1" in known(found.master_addr)
        assert net._lookup("a" * 300 + ".invalid") == ()


class TestVersions:
    def test_packages_of_a_captured_tree(self, tmp_path: Path) -> None:
        base = "opt/venv/lib/python3.12/site-packages"
        files = {
            f"{base}/torch-2.8.0+cu128.dist-info/METADATA": "",
            f"{base}/nvidia_nccl_cu12-2.27.3.dist-info/METADATA": "",
            f"{base}/requests-2.0.dist-info/METADATA": "",
            f"{base}/torch/version.py": "__version__ = '2.8.0+cu128'\ncuda: Optional[str] = '12.8'\nhip = None\n",
            "etc/os-release": 'NAME=x\nPRETTY_NAME="Debian 12"\n',
            "sys/module/mlx5_core/version": "24.10-1.1.4\n",
        }
        found = software.versions(tree(tmp_path, files), {}, 5.0)
        assert (found.torch, found.torch_cuda, found.os, found.ofed) == (
            "2.8.0+cu128",
            "12.8",
            "Debian 12",
            "24.10-1.1.4",
        )
        assert found.packages == (
            Setting(name="nvidia-nccl-cu12", value="2.27.3"),
            Setting(name="torch", value="2.8.0+cu128"),
        )

    def test_a_build_without_cuda(self, tmp_path: Path) -> None:
        base = "usr/lib/python3.12/site-packages"
        files = {
            f"{base}/torch-2.8.0+cpu.dist-info/x": "",
            f"{base}/torch/version.py": "cuda: Optional[str] = None\n",
        }
        assert software.versions(tree(tmp_path, files), {}, 5.0).torch_cuda == ""

    def test_a_build_for_gpus_of_amd(self, tmp_path: Path) -> None:
        base = "opt/venv/lib/python3.12/site-packages"
        files: dict[str, str | bytes] = {
            f"{base}/torch-2.8.0+rocm6.4.dist-info/x": "",
            f"{base}/torch/version.py": "cuda: Optional[str] = None\nhip: Optional[str] = '6.4.43482-0f2d60242'\n",
            f"{base}/torch/lib/librccl.so.1": elf({".rodata": b"\0RCCL version 2.22.3+hip6.4 HEAD:ae2ee2e\0"}),
        }
        found = software.versions(tree(tmp_path, files), {}, 5.0)
        assert (found.torch_cuda, found.torch_hip, found.rccl) == ("", "6.4.43482-0f2d60242", "2.22.3")

    def test_an_rccl_that_names_no_version(self, tmp_path: Path) -> None:
        path = "opt/rocm/lib/librccl.so.1"
        found = software.versions(tree(tmp_path, {path: elf({".rodata": b"nothing"})}), {}, 5.0)
        assert found.rccl == Unknown(f"/{path} contains no version string")
        assert software.versions(tree(tmp_path / "bare", {"etc/x": ""}), {}, 5.0).rccl == ""

    def test_live_imports_nothing(self) -> None:
        found = software.versions(Tree(""), {}, 5.0)
        assert found.torch != ""
        assert isinstance(found.glibc, str)


class TestServices:
    def test_names_that_the_kernel_has_cut(self, tmp_path: Path) -> None:
        comms = ("nv-fabricmanage", "nvidia-persiste", "chronyd", "bash")
        files = {f"proc/{number}/comm": f"{name}\n" for number, name in enumerate(comms, 10)}
        host = tree(tmp_path, files, {"proc/self/ns/pid": "pid:[4026531836]"})
        assert container.daemons(host) == ("chronyd", "nv-fabricmanager", "nvidia-persistenced")


class TestCloud:
    @pytest.mark.parametrize(
        ("field", "text", "provider"),
        [
            ("sys_vendor", "Amazon EC2", "aws"),
            ("product_name", "Google Compute Engine", "gcp"),
            ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "azure"),
            ("chassis_asset_tag", "OracleCloud.com", "oci"),
            ("sys_vendor", "Dell Inc.", None),
        ],
    )
    def test_marks(self, tmp_path: Path, field: str, text: str, provider: str | None) -> None:
        marks = {"sys_vendor": "QEMU", "product_name": "x", "chassis_asset_tag": "y", field: text}
        files = {f"sys/class/dmi/id/{name}": f"{value}\n" for name, value in marks.items()}
        assert system.cloud(tree(tmp_path, files)).provider == provider
