"""Hosts on one machine: network and UTS namespaces with their own names, addresses and /etc/hosts, on one switch.

The switch is a bridge in a namespace of its own, so nothing that the hosts send can leave the machine; a
blackhole route catches what a mistake would send from outside of the namespaces. Names of namespaces hold the
pid of the process that made them: laboratories stand side by side, and one whose maker died is removed by the
next. Only processes inside these namespaces are ever ended.
"""

import contextlib
import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.support.commands import Command, until

PREFIX = "nclab"
NETWORK, SECOND_NETWORK = "10.77.0", "10.78.0"
TOOLS = ("ip", "tc", "unshare", "nsenter", "nft", "faketime")
_NETNS = Path("/etc/netns")
_UTS = Path("/run") / PREFIX
_count = itertools.count()


def missing() -> str:
    """Why there can be no laboratory here; empty when there can."""
    if os.geteuid():
        return "needs root: namespaces are made"
    lacking = [tool for tool in TOOLS if shutil.which(tool) is None]
    if lacking:
        return f"needs {', '.join(lacking)}: apt-get install iproute2 util-linux nftables faketime"
    probe = subprocess.run(["unshare", "--net", "--uts", "--mount", "true"], capture_output=True, text=True)
    return f"namespaces cannot be made here: {probe.stderr.strip()}" if probe.returncode else ""


class Host:
    """One host: its name is n1, n2, ..., its only interface eth0."""

    def __init__(self, lab: str, number: int) -> None:
        self.name = f"n{number}"
        self.address = f"{NETWORK}.{number}"
        self.namespace = f"{lab}-{self.name}"
        self.uts = _UTS / self.namespace
        self.hosts_file = _NETNS / self.namespace / "hosts"
        self.services: set[int] = set()
        """Its daemons, which are there whether a command runs or not."""

    @property
    def inside(self) -> tuple[str, ...]:
        """What to put before a command so that it runs on this host."""
        return ("ip", "netns", "exec", self.namespace, "nsenter", f"--uts={self.uts}")

    def run(self, *argv: str) -> str:
        """Run a short command to its end; its output."""
        return _run(*self.inside, *argv)

    def start(self, argv: Sequence[str], folder: Path, env: Mapping[str, str] | None = None) -> Command:
        """Start a command."""
        return Command(argv, folder / self.name, env, prefix=self.inside)

    def link(self, state: str) -> None:
        """Set its cable up or down."""
        _run("ip", "-n", self.namespace, "link", "set", "eth0", state)

    def knows(self, addresses: Mapping[str, str]) -> None:
        """Write its /etc/hosts."""
        lines = [f"{address} {name}\n" for name, address in {"localhost": "127.0.0.1", **addresses}.items()]
        self.hosts_file.write_text("".join(lines))

    def pids(self) -> list[int]:
        """The processes on it, but for its daemons."""
        return [pid for pid in _pids(self.namespace) if pid not in self.services]

    def kill_everything(self) -> None:
        """As when its power goes, but for its network stack."""
        for pid in _pids(self.namespace):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Lab:
    """Hosts that can reach each other, and nothing else."""

    def __init__(self, count: int) -> None:
        self.id = f"{PREFIX}{os.getpid()}-{next(_count)}"
        self.switch = f"{self.id}-switch"
        self.hosts = [Host(self.id, number + 1) for number in range(count)]

    def quiet(self) -> bool:
        """Whether no process is left on any host; waits for those that are being killed."""
        return until(lambda: not any(host.pids() for host in self.hosts), 10.0)

    def shape(self, host: Host, rate: str, queue: str = "5ms") -> None:
        """Limit what leaves the switch towards a host, as `100mbit`; its queue holds what leaves in this time."""
        limits = ("tbf", "rate", rate, "burst", "16kb", "latency", queue)
        _run("ip", "netns", "exec", self.switch, "tc", "qdisc", "add", "dev", f"p-{host.name}", "root", *limits)

    def wire(self, rate: str) -> None:
        """Give every cable a rate of its own, each way, so that links limit what hosts exchange and not the
        machine under them."""
        for host in self.hosts:
            for inside, device in ((self._on_switch, f"p-{host.name}"), (host.inside, "eth0")):
                tc = (*inside, "tc")
                _run(*tc, "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1")
                _run(*tc, *_class_of(device, 1, rate))

    def add_rail(self, rate: str) -> None:
        """A second cable of each host, to a switch of its own: eth1."""
        _run("ip", "-n", self.switch, "link", "add", "br1", "type", "bridge")
        _run("ip", "-n", self.switch, "link", "set", "br1", "up")
        for number, host in enumerate(self.hosts, start=1):
            port = f"q-{host.name}"
            ends = ("link", "add", "eth1", "netns", host.namespace, "type", "veth", "peer", "name", port)
            _run("ip", *ends, "netns", self.switch)
            _run("ip", "-n", self.switch, "link", "set", port, "master", "br1", "up")
            _run("ip", "-n", host.namespace, "link", "set", "eth1", "up")
            _run("ip", "-n", host.namespace, "addr", "add", f"{SECOND_NETWORK}.{number}/24", "dev", "eth1")
            for inside, device in ((self._on_switch, port), (host.inside, "eth1")):
                _run(*inside, "tc", "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1")
                _run(*inside, "tc", *_class_of(device, 1, rate))

    def slow_rail(self, host: Host, rate: str) -> None:
        """A lower rate for the second cable of a host."""
        _run(*self._on_switch, "tc", *_class_of(f"q-{host.name}", 1, rate, "change"))
        host.run("tc", *_class_of("eth1", 1, rate, "change"))

    def slow_down(self, host: Host, rate: str, *, sends: bool = True, receives: bool = True) -> None:
        """A lower rate for a host that is wired."""
        if receives:
            _run(*self._on_switch, "tc", *_class_of(f"p-{host.name}", 1, rate, "change"))
        if sends:
            host.run("tc", *_class_of("eth0", 1, rate, "change"))

    def slow_link(self, source: Host, to: Host, rate: str) -> None:
        """A rate for what one wired host sends to another, while both reach all others at full rate."""
        device = f"p-{to.name}"
        _run(*self._on_switch, "tc", *_class_of(device, 2, rate))
        match = ("u32", "match", "ip", "src", source.address, "flowid", "1:2")
        where = ("dev", device, "parent", "1:", "protocol", "ip", "prio", "1")
        _run(*self._on_switch, "tc", "filter", "add", *where, *match)

    @property
    def _on_switch(self) -> tuple[str, ...]:
        return ("ip", "netns", "exec", self.switch)

    def lose(self, host: Host, percent: int) -> None:
        """Lose so many of the packets to and from a host on the switch, but for those of ssh."""
        port = f"p-{host.name}"
        nft = ("ip", "netns", "exec", self.switch, "nft")
        _run(*nft, "add table bridge faults")
        _run(*nft, "add chain bridge faults forward { type filter hook forward priority 0; }")
        for rule in ("tcp dport 22 accept", "tcp sport 22 accept"):
            _run(*nft, f"add rule bridge faults forward {rule}")
        for way in ("iifname", "oifname"):
            _run(*nft, f"add rule bridge faults forward {way} {port} numgen random mod 100 < {percent} drop")

    def __enter__(self) -> "Lab":
        _remove_abandoned()
        _UTS.mkdir(exist_ok=True)
        _run("ip", "route", "replace", "blackhole", f"{NETWORK}.0/24")
        _run("ip", "netns", "add", self.switch)
        _run("ip", "-n", self.switch, "link", "add", "br0", "type", "bridge")
        _run("ip", "-n", self.switch, "link", "set", "br0", "up")
        for host in self.hosts:
            self._plug_in(host)
        return self

    def _plug_in(self, host: Host) -> None:
        port = f"p-{host.name}"
        _run("ip", "netns", "add", host.namespace)
        ends = ("link", "add", "eth0", "netns", host.namespace, "type", "veth", "peer", "name", port)
        _run("ip", *ends, "netns", self.switch)
        _run("ip", "-n", self.switch, "link", "set", port, "master", "br0", "up")
        _run("ip", "-n", host.namespace, "link", "set", "lo", "up")
        _run("ip", "-n", host.namespace, "link", "set", "eth0", "up")
        _run("ip", "-n", host.namespace, "addr", "add", f"{host.address}/24", "dev", "eth0")
        host.hosts_file.parent.mkdir(parents=True)  # `ip netns exec` puts its files over those in /etc
        host.knows({other.name: other.address for other in self.hosts})
        (host.hosts_file.parent / "resolv.conf").write_text("")
        host.uts.touch()
        _run("unshare", f"--uts={host.uts}", "hostname", host.name)

    def __exit__(self, *_: object) -> None:
        for namespace in (*(host.namespace for host in self.hosts), self.switch):
            _remove(namespace)
        if not any(name.startswith(PREFIX) for name in _namespaces()):
            subprocess.run(
                ["ip", "route", "del", "blackhole", f"{NETWORK}.0/24"], check=False, capture_output=True
            )
            with contextlib.suppress(OSError):  # another laboratory has just begun
                _UTS.rmdir()


def _class_of(device: str, number: int, rate: str, verb: str = "add") -> tuple[str, ...]:
    where = ("class", verb, "dev", device, "parent", "1:", "classid", f"1:{number}")
    return (*where, "htb", "rate", rate, "burst", "16kb")


def _remove_abandoned() -> None:
    for namespace in _namespaces():
        maker = namespace.removeprefix(PREFIX).partition("-")[0]
        if namespace.startswith(PREFIX) and maker.isdecimal() and not Path(f"/proc/{maker}").exists():
            _remove(namespace)


def _remove(namespace: str) -> None:
    with contextlib.suppress(subprocess.CalledProcessError):
        for pid in _pids(namespace):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        _run("ip", "netns", "del", namespace)
    shutil.rmtree(_NETNS / namespace, ignore_errors=True)
    uts = _UTS / namespace
    if uts.exists():
        subprocess.run(["umount", str(uts)], check=False, capture_output=True)
        uts.unlink(missing_ok=True)  # another laboratory may remove it too


def _namespaces() -> Iterator[str]:
    return (line.split()[0] for line in _run("ip", "netns", "list").splitlines() if line.strip())


def _pids(namespace: str) -> list[int]:
    return [int(word) for word in _run("ip", "netns", "pids", namespace).split()]


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=30).stdout
