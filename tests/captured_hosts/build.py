"""Trees like /proc, /sys, /dev and /etc: the formats of the kernel, filled from a description."""

import ipaddress
import os
import shutil
import struct
from collections.abc import Iterable
from pathlib import Path

from tests.captured_hosts.kinds import Hca, Kind, Nic

_FLAGS = {"up": 0x1003, "down": 0x1003}
VIRTUAL_ADDRESSES = {"docker0": "172.17.0.1/16", "virbr0": "192.168.122.1/24", "veth1": "10.244.0.7/24"}
_SYSCTLS = {
    "kernel/osrelease": "",
    "kernel/version": "#63-Ubuntu SMP PREEMPT_DYNAMIC",
    "kernel/hostname": "",
    "kernel/arch": "x86_64",
    "kernel/numa_balancing": "0",
    "kernel/random/boot_id": "7f4d2a30-1111-4222-8333-444455556666",
    "vm/nr_hugepages": "0",
    "net/core/somaxconn": "4096",
    "net/core/rmem_max": "67108864",
    "net/core/wmem_max": "67108864",
    "net/ipv4/ip_local_port_range": "1024\t65535",
    "net/ipv4/tcp_mtu_probing": "0",
}


def build(root: Path, kind: Kind) -> Path:
    """Make the tree; its root is returned."""
    tree = _Tree(root, kind)
    tree.proc()
    tree.proc_net()
    tree.etc()
    tree.pci()
    tree.nvidia()
    tree.dev()
    tree.sys()
    for path, text in kind.files.items():
        tree.write(path, text)
    for path in kind.hidden:
        shutil.rmtree(root / path.lstrip("/"), ignore_errors=True)
    return root


class _Tree:
    def __init__(self, root: Path, kind: Kind) -> None:
        self.root, self.kind = root, kind
        self.index = 1
        self.folders: set[Path] = set()

    def place(self, path: str) -> Path:
        """Where to make something, in a folder that is there."""
        place = self.root / path.lstrip("/")
        if place.parent not in self.folders:
            place.parent.mkdir(parents=True, exist_ok=True)
            self.folders.add(place.parent)
        return place

    def write(self, path: str, text: str | bytes) -> None:
        file = self.place(path)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def lines(self, path: str, lines: Iterable[str]) -> None:
        self.write(path, "".join(f"{line}\n" for line in lines))

    def link(self, path: str, target: str) -> None:
        """A link to another path of the tree, relative as in /sys."""
        link = self.place(path)
        link.symlink_to(os.path.relpath(self.root / target.lstrip("/"), link.parent))

    def raw_link(self, path: str, target: str) -> None:
        link = self.place(path)
        link.symlink_to(target)

    def proc(self) -> None:
        kind = self.kind
        texts = {**_SYSCTLS, "kernel/osrelease": kind.release, "kernel/hostname": kind.hostname, **kind.sysctls}
        for name, text in texts.items():
            self.write(f"/proc/sys/{name}", f"{text}\n")
        self.write("/proc/cmdline", f"{kind.cmdline}\n")
        flags = "fpu vme avx512f amx_tile" + (" hypervisor" if kind.vm else "")
        cpu = (
            "processor\t: 0",
            "vendor_id\t: GenuineIntel",
            "model name\t: Intel(R) Xeon(R) Platinum 8480C",
            f"flags\t\t: {flags}",
            "",
        )
        self.lines("/proc/cpuinfo", cpu)
        total = kind.memory_bytes // 1024
        memory = {
            "MemTotal": f"{total} kB",
            "MemFree": f"{total // 2} kB",
            "MemAvailable": f"{total // 2} kB",
            "SwapTotal": "0 kB",
            "HugePages_Total": "0",
            "HugePages_Free": "0",
            "Hugepagesize": "2048 kB",
        }
        self.lines("/proc/meminfo", (f"{name + ':':<16}{value:>12}" for name, value in memory.items()))
        self.lines("/proc/modules", (f"{name} 16384 0 - Live 0x0000000000000000" for name in kind.modules))
        for name in kind.modules:
            self.write(f"/sys/module/{name}/refcnt", "0\n")
        self._self()

    def _self(self) -> None:
        kind = self.kind
        rows = {
            "Max stack size": ("8388608", "unlimited", "bytes"),
            "Max core file size": ("0", "unlimited", "bytes"),
            "Max processes": ("8254000", "8254000", "processes"),
            "Max open files": (str(kind.nofile), str(kind.nofile), "files"),
            "Max locked memory": (kind.memlock, kind.memlock, "bytes"),
            "Max address space": ("unlimited", "unlimited", "bytes"),
        }
        head = f"{'Limit':<26}{'Soft Limit':<21}{'Hard Limit':<21}{'Units':<10}"
        self.lines(
            "/proc/self/limits", [head, *(f"{t:<26}{s:<21}{h:<21}{u:<10}" for t, (s, h, u) in rows.items())]
        )
        status = {
            "Name": "python3",
            "Uid": "\t".join([str(kind.uid)] * 4),
            "CapEff": f"{kind.capabilities:016x}",
            "CapBnd": "000001ffffffffff",
            "NoNewPrivs": "0",
            "Seccomp": "2" if kind.pid_namespace else "0",
            "Cpus_allowed_list": f"0-{kind.cores - 1}",
        }
        self.lines("/proc/self/status", (f"{name}:\t{value}" for name, value in status.items()))
        self.write("/proc/self/cgroup", f"{kind.cgroup}\n")
        self.write(
            "/proc/self/uid_map",
            "         0       1000          1\n" if kind.user_namespace else "         0          0 4294967295\n",
        )
        self.write("/proc/self/environ", "".join(f"{name}={value}\0" for name, value in kind.env.items()))
        for number, name in enumerate(("cgroup", "ipc", "mnt", "net", "user", "uts")):
            self.raw_link(f"/proc/self/ns/{name}", f"{name}:[{4026531830 + number}]")
        self.raw_link("/proc/self/ns/pid", f"pid:[{4026532999 if kind.pid_namespace else 4026531836}]")
        mounts = [
            *(kind.mounts or ("/dev/sda1 / ext4 rw",)),
            f"tmpfs /dev/shm tmpfs rw,size={kind.shm_bytes // 1024}k",
            "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate",
        ]
        self.lines("/proc/self/mountinfo", (_mount(number, line) for number, line in enumerate(mounts, 25)))

    def proc_net(self) -> None:
        head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
        four = ipv4_of(self.kind)
        # a cloud that gives /32 has an on-link route to the gateway only
        routes = [
            _route(name, f"{own.ip - 1}/32" if own.network.prefixlen == 32 else str(own.network))
            for name, own in four
        ]
        if self.kind.nics:
            routes.insert(0, _route(four[0][0], "0.0.0.0/0", str(four[0][1].network.network_address + 254)))
        self.lines("/proc/net/route", [head, *routes])
        own = ["127.0.0.1", *(str(address.ip) for _, address in four)]
        trie = ["Local:", "  +-- 0.0.0.0/0 3 0 5"]
        for address in own:
            trie += [f"     |-- {address}", "        /32 host LOCAL"]
        self.lines("/proc/net/fib_trie", trie)
        loopback = "00000000000000000000000000000001 01 80 10 80       lo"
        six = [(nic, ipaddress.ip_interface(nic.address6)) for nic in self.kind.nics if nic.address6]
        others = (f"{int(a.ip):032x} 02 {a.network.prefixlen:02x} 00 80 {nic.name:>8}" for nic, a in six)
        self.lines("/proc/net/if_inet6", [loopback, *others])
        self.lines("/proc/net/ipv6_route", ())
        tcp = "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1"
        self.lines("/proc/net/tcp", ["  sl  local_address rem_address   st tx_queue rx_queue tr tm->when", tcp])
        self.lines("/proc/net/tcp6", ["  sl  local_address rem_address   st tx_queue rx_queue tr tm->when"])

    def etc(self) -> None:
        name = self.kind.hostname
        addresses = [nic.address.partition("/")[0] for nic in self.kind.nics if nic.address]
        self.lines(
            "/etc/hosts", ["127.0.0.1 localhost", f"{addresses[0] if addresses else '10.9.0.1'} {name} # own"]
        )
        self.lines("/etc/nsswitch.conf", ["passwd: files", "hosts:          files dns"])
        self.lines("/etc/resolv.conf", ["# made", "nameserver 10.0.0.53"])
        self.lines("/etc/os-release", [f'PRETTY_NAME="{self.kind.os}"'])
        self.lines("/etc/passwd", [f"user:x:{self.kind.uid}:{self.kind.uid}::/home/user:/bin/bash"])
        self.lines("/etc/systemd/logind.conf", ["[Login]", "RemoveIPC=no"])
        self.write("/etc/ld.so.cache", ld_cache(self.kind.libraries))
        for path in self.kind.libraries:
            self.write(path, elf({".dynstr": _symbols(path)}))

    def pci(self) -> None:
        """A root port with a switch for each GPU and what is beside it; one root port for the rest."""
        for number in range(self.kind.gpus):
            switch = self._bridge(f"/sys/devices/pci0000:{number * 16:02x}", number)
            self._function(
                f"{switch}/0000:{number * 16 + 3:02x}:00.0",
                "0x030200",
                "0x10de",
                self.kind.gpu_device,
                "nvidia",
                number,
            )
        for slot, nic in enumerate(self.kind.nics):
            if not any(hca.netdev == nic.name for hca in self.kind.hcas):
                self._nic(nic, self._place(nic.under_gpu, slot, "04", nic, "0x020000"))
        for slot, hca in enumerate(self.kind.hcas):
            code = "0x020700" if hca.layer == "InfiniBand" else "0x020000"
            folder = self._place(hca.under_gpu, slot, "05", hca, code)
            self._hca(hca, folder, slot)
            for nic in self.kind.nics:
                if nic.name == hca.netdev:
                    self._nic(nic, folder)
        self._virtual("lo", 65536, 772, 0x9)
        for name in self.kind.virtual:
            self._virtual(name, 1500, 1, 0x1003)

    def _bridge(self, folder: str, number: int) -> str:
        for device in (
            f"0000:{number * 16:02x}:01.0",
            f"0000:{number * 16 + 1:02x}:00.0",
            f"0000:{number * 16 + 2:02x}:00.0",
        ):
            folder = f"{folder}/{device}"
            self._function(folder, "0x060400", "0x1000", "0xc030", "pcieport", number, self.kind.acs)
        return folder

    def _place(self, gpu: int | None, slot: int, bus: str, what: Nic | Hca, code: str) -> str:
        number = gpu if gpu is not None else 15
        base = f"/sys/devices/pci0000:{number * 16:02x}"
        if gpu is not None:
            base += "".join(
                f"/0000:{number * 16 + step:02x}:{tail}" for step, tail in ((0, "01.0"), (1, "00.0"), (2, "00.0"))
            )
        folder = f"{base}/0000:{number * 16 + int(bus, 16):02x}:{slot:02x}.0"
        self._function(folder, code, what.vendor, what.device, what.driver, gpu or 0)
        return folder

    def _function(
        self, folder: str, code: str, vendor: str, device: str, driver: str, near: int, acs: int | None = None
    ) -> None:
        address = folder.rpartition("/")[2]
        node = near * self.kind.nodes // max(self.kind.gpus, 1)
        size = self.kind.cores // self.kind.nodes
        texts = {
            "class": code,
            "vendor": vendor,
            "device": device,
            "numa_node": "-1" if self.kind.vm else str(node),
            "local_cpulist": f"{node * size}-{(node + 1) * size - 1}",
            "current_link_speed": "32.0 GT/s PCIe",
            "current_link_width": "16",
            "max_link_speed": "32.0 GT/s PCIe",
            "max_link_width": "16",
        }
        for name, text in texts.items():
            self.write(f"{folder}/{name}", f"{text}\n")
        self.write(f"{folder}/config", _config(acs)[: 4096 if self.kind.root else 64])
        (self.root / f"sys/bus/pci/drivers/{driver}").mkdir(parents=True, exist_ok=True)
        self.link(f"{folder}/driver", f"/sys/bus/pci/drivers/{driver}")
        self.link(f"/sys/bus/pci/devices/{address}", folder)

    def _nic(self, nic: Nic, device: str) -> None:
        self.index += 1
        folder = f"{device}/net/{nic.name}"
        texts = {
            "ifindex": str(self.index),
            "flags": f"{_FLAGS[nic.state]:#x}",
            "operstate": nic.state,
            "carrier": "1" if nic.state == "up" else "0",
            "carrier_changes": "2",
            "mtu": str(nic.mtu),
            "type": str(nic.arp_type),
            "uevent": f"INTERFACE={nic.name}",
        }
        if nic.speed is not None:
            texts["speed"] = str(nic.speed)
        for name, text in texts.items():
            self.write(f"{folder}/{name}", f"{text}\n")
        self.raw_link(f"{folder}/device", f"../../../{device.rpartition('/')[2]}")
        self.link(f"/sys/class/net/{nic.name}", folder)

    def _virtual(self, name: str, mtu: int, arp_type: int, flags: int) -> None:
        self.index += name != "lo"
        folder = f"/sys/devices/virtual/net/{name}"
        bridge = name.startswith(("docker", "virbr"))
        texts = {
            "ifindex": "1" if name == "lo" else str(self.index),
            "flags": f"{flags:#x}",
            "operstate": "unknown" if name == "lo" else "down" if bridge else "up",
            "carrier": "0" if bridge else "1",
            "carrier_changes": "0",
            "mtu": str(mtu),
            "type": str(arp_type),
            "uevent": f"{'DEVTYPE=bridge' if bridge else ''}\nINTERFACE={name}",
        }
        for file, text in texts.items():
            self.write(f"{folder}/{file}", f"{text}\n")
        self.link(f"/sys/class/net/{name}", folder)

    def _hca(self, hca: Hca, device: str, number: int) -> None:
        folder = f"{device}/infiniband/{hca.name}"
        texts = {
            "node_type": hca.node_type,
            "node_guid": f"a088:c203:00aa:{number:04x}",
            "sys_image_guid": f"a088:c203:00aa:{number:04x}",
            "fw_ver": hca.fw,
            "board_id": hca.board,
            "hca_type": hca.type,
            "tc/1/traffic_class": "",
            "ports/1/state": hca.state,
            "ports/1/phys_state": hca.phys_state,
            "ports/1/link_layer": hca.layer,
            "ports/1/rate": hca.rate,
            "ports/1/lid": f"{hca.lid:#x}",
            "ports/1/sm_lid": "0x1" if hca.layer == "InfiniBand" else "0x0",
            "ports/1/counters/symbol_error": "0",
            "ports/1/counters/link_downed": "0",
            "ports/1/hw_counters/out_of_sequence": "0",
        }
        texts.update({f"ports/1/pkeys/{n}": "0xffff" if n == 0 else "0x0000" for n in range(8)})
        for name, text in texts.items():
            self.write(f"{folder}/{name}", f"{text}\n")
        for slot, (gid, kind) in enumerate(_gids(hca, self.kind.nics)):
            self.write(f"{folder}/ports/1/gids/{slot}", f"{gid}\n")
            if kind:
                self.write(f"{folder}/ports/1/gid_attrs/types/{slot}", f"{kind}\n")
            if kind and hca.netdev:
                self.write(f"{folder}/ports/1/gid_attrs/ndevs/{slot}", f"{hca.netdev}\n")
        self.raw_link(f"{folder}/device", f"../../../{device.rpartition('/')[2]}")
        self.link(f"/sys/class/infiniband/{hca.name}", folder)
        self.write(f"/sys/class/infiniband_verbs/uverbs{number}/ibdev", f"{hca.name}\n")
        self.write(f"/dev/infiniband/uverbs{number}", "")
        (self.root / f"dev/infiniband/uverbs{number}").chmod(0o666)

    def nvidia(self) -> None:
        if not self.kind.gpus:
            return
        kind = self.kind
        name = (
            "NVIDIA UNIX Open Kernel Module for x86_64"
            if kind.flavour == "open"
            else "NVIDIA UNIX x86_64 Kernel Module"
        )
        self.lines(
            "/proc/driver/nvidia/version",
            [
                f"NVRM version: {name}  {kind.driver}  Release Build  (dvs-builder)  Mon",
                "GCC version:  gcc version 13.3.0",
            ],
        )
        self.lines(
            "/proc/driver/nvidia/params",
            [
                "ResmanDebugLevel: 4294967295",
                "EnableStreamMemOPs: 0",
                'RegistryDwords: ""',
                "GrdmaPciTopoCheckOverride: 0",
            ],
        )
        for number in range(kind.gpus):
            rows = {
                "Model": kind.gpu,
                "IRQ": "321",
                "GPU UUID": f"GPU-00000000-0000-0000-0000-00000000000{number}",
                "Video BIOS": "96.00.bc.00.01",
                "Bus Type": "PCIe",
                "Device Minor": str(number),
                "GPU Firmware": kind.driver,
            }
            path = f"/proc/driver/nvidia/gpus/0000:{number * 16 + 3:02x}:00.0/information"
            self.lines(path, (f"{title + ':':<17} {value}" for title, value in rows.items()))

    def dev(self) -> None:
        names = [f"nvidia{number}" for number in range(self.kind.gpus)]
        if names:
            names += ["nvidiactl", "nvidia-uvm", *(["gdrdrv"] if "gdrdrv" in self.kind.modules else [])]
        names += [f"nvidia-caps-imex-channels/{channel}" for channel in self.kind.imex_channels]
        (self.root / "dev/shm").mkdir(parents=True, exist_ok=True)
        for name in names:
            self.write(f"/dev/{name}", "")
            (self.root / "dev" / name).chmod(0o666)

    def sys(self) -> None:
        kind = self.kind
        for name, text in kind.dmi.items():
            self.write(f"/sys/class/dmi/id/{name}", f"{text}\n")
        self.write("/sys/devices/system/cpu/online", f"0-{kind.cores - 1}\n")
        size = kind.cores // kind.nodes
        for node in range(kind.nodes):
            self.write(f"/sys/devices/system/node/node{node}/cpulist", f"{node * size}-{(node + 1) * size - 1}\n")
        self.write("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n")
        self.write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
        self.write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
        if "nvidia_peermem" in kind.modules:
            self.write("/sys/kernel/mm/memory_peers/nv_mem/version", "1.0\n")
        self.write("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory pids\n")
        group = "/sys/fs/cgroup" + kind.cgroup.partition("::")[2].rstrip("/")
        texts = {
            "pids.max": "max",
            "pids.current": "12",
            "memory.max": "max",
            "cpu.max": "max 100000",
            "memory.events": "low 0\noom 0\noom_kill 0",
            "cpuset.cpus.effective": f"0-{kind.cores - 1}",
        }
        for name, text in texts.items():
            self.write(f"{group}/{name}", f"{text}\n")


def ipv4_of(kind: Kind) -> list[tuple[str, ipaddress.IPv4Interface]]:
    """(interface, address) without the loopback."""
    named = [(nic.name, nic.address) for nic in kind.nics if nic.address]
    named += [(name, VIRTUAL_ADDRESSES[name]) for name in kind.virtual if name in VIRTUAL_ADDRESSES]
    return [(name, ipaddress.IPv4Interface(address)) for name, address in named]


def _mount(number: int, line: str) -> str:
    source, point, fstype, options = line.split()
    return f"{number} 1 0:{number} / {point} rw,relatime shared:1 - {fstype} {source} {options}"


def _route(name: str, network: str, gateway: str = "0.0.0.0") -> str:
    where = ipaddress.IPv4Network(network)
    words = [
        int.from_bytes(a.packed, "little")
        for a in (where.network_address, ipaddress.IPv4Address(gateway), where.netmask)
    ]
    flags = "0003" if words[1] else "0001"
    return f"{name}\t{words[0]:08X}\t{words[1]:08X}\t{flags}\t0\t0\t0\t{words[2]:08X}\t0\t0\t0"


def _gids(hca: Hca, nics: tuple[Nic, ...]) -> list[tuple[str, str]]:
    """(GID, type) by slot; RoCE has each address twice, and every table has empty slots."""
    empty = (":".join(["0000"] * 8), "")
    if not hca.netdev:
        return [(hca.gid, "IB/RoCE v1" if hca.driver != "efa" else ""), empty]
    nic = next(nic for nic in nics if nic.name == hca.netdev)
    four = ipaddress.ip_interface(nic.address).ip
    mapped = ipaddress.IPv6Address(f"::ffff:{four}").exploded
    local = "fe80:0000:0000:0000:bae9:24ff:fe00:0001"
    return [(gid, kind) for gid in (local, mapped) for kind in ("IB/RoCE v1", "RoCE v2")] + [empty] * 4


def _config(acs: int | None) -> bytes:
    """4096 bytes of configuration space; a bridge has AER and, behind it, ACS."""
    config = bytearray(4096)
    struct.pack_into("<I", config, 0x100, 0x0001 | 1 << 16 | (0x148 if acs is not None else 0) << 20)
    if acs is not None:
        struct.pack_into("<IHH", config, 0x148, 0x000D | 1 << 16, 0x5F, acs)
    return bytes(config)


def ld_cache(paths: tuple[str, ...]) -> bytes:
    """The format of glibc since 2.32."""
    head = 48 + 24 * len(paths)
    strings, entries = b"", b""
    for path in paths:
        name = path.rpartition("/")[2]
        key, value = head + len(strings), head + len(strings) + len(name) + 1
        strings += name.encode() + b"\0" + path.encode() + b"\0"
        entries += struct.pack("<iIIIQ", 0x0303, key, value, 0, 0)
    counts = struct.pack("<II", len(paths), len(strings))
    return b"glibc-ld.so.cache1.1" + counts + struct.pack("<BxxxIIII", 2, 0, 0, 0, 0) + entries + strings


def _symbols(path: str) -> bytes:
    if "libnccl-net" in path:
        return b"\0ncclNetPlugin_v10\0ncclNetPlugin_v9\0ncclCollNetPlugin_v9\0"
    return b"\0ibv_open_device\0ibv_reg_mr_iova2\0" if "libibverbs" in path else b"\0gdr_open\0"


def elf(sections: dict[str, bytes]) -> bytes:
    """A 64-bit ELF file with nothing but these sections."""
    names = b"\0" + b"".join(name.encode() + b"\0" for name in (*sections, ".shstrtab"))
    body, table = bytearray(64), [bytes(64)]
    for name, data in (*sections.items(), (".shstrtab", names)):
        at = names.index(name.encode() + b"\0")
        table.append(struct.pack("<IIQQQQIIQQ", at, 3, 0, 0, len(body), len(data), 0, 0, 1, 0))
        body += data
    head = (
        b"\x7fELF\x02\x01\x01"
        + bytes(9)
        + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, len(body), 0, 64, 0, 0, 64, len(table), len(table) - 1)
    )
    body[:64] = head
    return bytes(body) + b"".join(table)
