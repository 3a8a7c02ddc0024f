"""/proc and /etc as the kernel and a distribution write them."""

import ipaddress

from tests.captured_hosts.formats.addresses import ipv4_of
from tests.captured_hosts.formats.binaries import elf, ld_cache, symbols
from tests.captured_hosts.formats.tree import TreeWriter
from tests.captured_hosts.kinds import Kind

_SYSCTLS = {
    "kernel/osrelease": "",
    "kernel/version": "#63-Ubuntu SMP PREEMPT_DYNAMIC",
    "kernel/hostname": "",
    "kernel/arch": "",
    "kernel/numa_balancing": "0",
    "kernel/random/boot_id": "7f4d2a30-1111-4222-8333-444455556666",
    "vm/nr_hugepages": "0",
    "net/core/somaxconn": "4096",
    "net/core/rmem_max": "67108864",
    "net/core/wmem_max": "67108864",
    "net/ipv4/ip_local_port_range": "1024\t65535",
    "net/ipv4/tcp_mtu_probing": "0",
}


_ARM = ("processor\t: 0", "Features\t: fp asimd sve2 bf16", "CPU implementer\t: 0x41", "CPU part\t: 0xd4f", "")
"""Neoverse V2, as in Grace: arch/arm64/include/asm/cputype.h."""


def write(tree: TreeWriter, kind: Kind) -> None:
    """All of it but what drivers add."""
    _machine(tree, kind)
    _self(tree, kind)
    _net(tree, kind)
    _etc(tree, kind)


def _machine(tree: TreeWriter, kind: Kind) -> None:
    own = {"kernel/osrelease": kind.release, "kernel/hostname": kind.hostname, "kernel/arch": kind.arch}
    texts = {**_SYSCTLS, **own, **kind.sysctls}
    for name, text in texts.items():
        tree.write(f"/proc/sys/{name}", f"{text}\n")
    tree.write("/proc/cmdline", f"{kind.cmdline}\n")
    tree.lines("/proc/cpuinfo", _ARM if kind.arch == "aarch64" else _x86(kind))
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
    tree.lines("/proc/meminfo", (f"{name + ':':<16}{value:>12}" for name, value in memory.items()))
    tree.lines("/proc/modules", (f"{name} 16384 0 - Live 0x0000000000000000" for name in kind.modules))
    for name in kind.modules:
        tree.write(f"/sys/module/{name}/refcnt", "0\n")


def _x86(kind: Kind) -> tuple[str, ...]:
    flags = "fpu vme avx512f amx_tile" + (" hypervisor" if kind.vm else "")
    vendor = "AuthenticAMD" if kind.cpu.startswith("AMD") else "GenuineIntel"
    return (
        "processor\t: 0",
        f"vendor_id\t: {vendor}",
        f"model name\t: {kind.cpu}",
        f"flags\t\t: {flags}",
        "",
    )


def _self(tree: TreeWriter, kind: Kind) -> None:
    rows = {
        "Max stack size": ("8388608", "unlimited", "bytes"),
        "Max core file size": ("0", "unlimited", "bytes"),
        "Max processes": ("8254000", "8254000", "processes"),
        "Max open files": (str(kind.nofile), str(kind.nofile), "files"),
        "Max locked memory": (kind.memlock, kind.memlock, "bytes"),
        "Max address space": ("unlimited", "unlimited", "bytes"),
    }
    head = f"{'Limit':<26}{'Soft Limit':<21}{'Hard Limit':<21}{'Units':<10}"
    tree.lines("/proc/self/limits", [head, *(f"{t:<26}{s:<21}{h:<21}{u:<10}" for t, (s, h, u) in rows.items())])
    status = {
        "Name": "python3",
        "Uid": "\t".join([str(kind.uid)] * 4),
        "CapEff": f"{kind.capabilities:016x}",
        "CapBnd": "000001ffffffffff",
        "NoNewPrivs": "0",
        "Seccomp": "2" if kind.pid_namespace else "0",
        "Cpus_allowed_list": f"0-{kind.cores - 1}",
    }
    tree.lines("/proc/self/status", (f"{name}:\t{value}" for name, value in status.items()))
    tree.write("/proc/self/cgroup", f"{kind.cgroup}\n")
    tree.write(
        "/proc/self/uid_map",
        "         0       1000          1\n" if kind.user_namespace else "         0          0 4294967295\n",
    )
    tree.write("/proc/self/environ", "".join(f"{name}={value}\0" for name, value in kind.env.items()))
    for number, name in enumerate(("cgroup", "ipc", "mnt", "net", "user", "uts")):
        tree.raw_link(f"/proc/self/ns/{name}", f"{name}:[{4026531830 + number}]")
    tree.raw_link("/proc/self/ns/pid", f"pid:[{4026532999 if kind.pid_namespace else 4026531836}]")
    mounts = [
        *(kind.mounts or ("/dev/sda1 / ext4 rw",)),
        f"tmpfs /dev/shm tmpfs rw,size={kind.shm_bytes // 1024}k",
        "cgroup2 /sys/fs/cgroup cgroup2 rw,nsdelegate",
    ]
    tree.lines("/proc/self/mountinfo", (_mount(number, line) for number, line in enumerate(mounts, 25)))


def _net(tree: TreeWriter, kind: Kind) -> None:
    head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT"
    four = ipv4_of(kind)
    # a cloud that gives /32 has an on-link route to the gateway only
    routes = [
        _route(name, f"{own.ip - 1}/32" if own.network.prefixlen == 32 else str(own.network)) for name, own in four
    ]
    if kind.nics:
        routes.insert(0, _route(four[0][0], "0.0.0.0/0", str(four[0][1].network.network_address + 254)))
    tree.lines("/proc/net/route", [head, *routes])
    own = ["127.0.0.1", *(str(address.ip) for _, address in four)]
    trie = ["Local:", "  +-- 0.0.0.0/0 3 0 5"]
    for address in own:
        trie += [f"     |-- {address}", "        /32 host LOCAL"]
    tree.lines("/proc/net/fib_trie", trie)
    loopback = "00000000000000000000000000000001 01 80 10 80       lo"
    six = [(nic, ipaddress.ip_interface(nic.address6)) for nic in kind.nics if nic.address6]
    others = (f"{int(a.ip):032x} 02 {a.network.prefixlen:02x} 00 80 {nic.name:>8}" for nic, a in six)
    tree.lines("/proc/net/if_inet6", [loopback, *others])
    tree.lines("/proc/net/ipv6_route", ())
    tcp = "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1"
    tree.lines("/proc/net/tcp", ["  sl  local_address rem_address   st tx_queue rx_queue tr tm->when", tcp])
    tree.lines("/proc/net/tcp6", ["  sl  local_address rem_address   st tx_queue rx_queue tr tm->when"])


def _etc(tree: TreeWriter, kind: Kind) -> None:
    name = kind.hostname
    addresses = [nic.address.partition("/")[0] for nic in kind.nics if nic.address]
    tree.lines("/etc/hosts", ["127.0.0.1 localhost", f"{addresses[0] if addresses else '10.9.0.1'} {name} # own"])
    tree.lines("/etc/nsswitch.conf", ["passwd: files", "hosts:          files dns"])
    tree.lines("/etc/resolv.conf", ["# made", "nameserver 10.0.0.53"])
    tree.lines("/etc/os-release", [f'PRETTY_NAME="{kind.os}"'])
    tree.lines("/etc/passwd", [f"user:x:{kind.uid}:{kind.uid}::/home/user:/bin/bash"])
    tree.lines("/etc/systemd/logind.conf", ["[Login]", "RemoveIPC=no"])
    tree.write("/etc/ld.so.cache", ld_cache(kind.libraries))
    for path in kind.libraries:
        tree.write(path, elf({".dynstr": symbols(path)}))


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
