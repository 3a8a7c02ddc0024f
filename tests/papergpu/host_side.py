"""The files of a captured host in the place of this one's, and NVML for its GPUs.

What says which machine it is comes from the tree: /sys, the driver's part of /proc, device files, libraries. What
a process needs to live stays real: its sockets, its memory, its own part of /proc, the name of the host.
"""

import builtins
import io
import ipaddress
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.captured_hosts.formats.addresses import ipv4_of
from tests.captured_hosts.kinds import KINDS, NVIDIA, WSL, Kind
from tests.papergpu import nvml
from tests.papergpu.machine import VARIABLE, PaperMachine

_FOLDERS = (
    "/sys", "/proc/driver", "/proc/cpuinfo", "/proc/modules", "/proc/cmdline", "/proc/sys", "/proc/self/limits",
    "/proc/self/ns/pid", "/etc/os-release", "/etc/nccl.conf", "/etc/ld.so.cache", "/.dockerenv", "/dev/nvidia",
    "/dev/infiniband", "/dev/dri", "/dev/kfd", "/dev/dxg", "/dev/gdrdrv", "/dev/aperture_devices",
)  # fmt: skip
"""Paths that begin so are those of the tree."""
_REAL = ("/sys/fs", "/proc/sys/kernel/hostname", "/proc/sys/kernel/random", "/proc/sys/net")
"""Of these, what stays: the process lives in its own control group, under its own name."""
_LISTED = "/dev"
"""Listed as in the tree; what is in it stays reachable."""
_CALLS = ("open", "stat", "lstat", "listdir", "scandir", "readlink", "access")


def install(machine: PaperMachine) -> None:
    """Make this process, and all that it forks, see that host."""
    assert machine.kind is not None
    kind = KINDS[machine.kind]
    redirect = _redirect(_built(machine.kind, Path(os.environ[VARIABLE])), kind)
    for name in _CALLS:
        setattr(os, name, _led(getattr(os, name), redirect, lists=name in ("listdir", "scandir")))
    opened = _led(io.open, redirect)
    builtins.open, io.open = opened, opened
    _give_addresses(kind)
    if kind.gpus and kind.make in (NVIDIA, WSL):
        sys.modules["pynvml"] = nvml.library(machine, kind)


def _built(name: str, beside: Path) -> str:
    """The tree of this kind, made by the first process that needs it."""
    root = beside.with_suffix(".tree")
    if not root.exists():
        own = beside.with_suffix(f".tree.{os.getpid()}")
        words = [sys.executable, "-m", "tests.captured_hosts", name, str(own)]
        env = {key: value for key, value in os.environ.items() if key != VARIABLE}
        subprocess.run(words, env=env, check=True, cwd=Path(__file__).parents[2], stdin=subprocess.DEVNULL)
        try:
            own.rename(root)
        except OSError:  # another one was first
            shutil.rmtree(own)
    return str(root)


def _redirect(root: str, kind: Kind) -> Callable[[str], str]:
    """Where a path leads."""
    single = {path for path in (*kind.files, *kind.libraries) if not path.startswith(_FOLDERS)}
    single |= {str(folder) for path in single for folder in Path(path).parents if not folder.exists()}
    libraries = "/usr/lib/wsl" if kind.make is WSL else None

    def led(path: str) -> str:
        wanted = path.startswith(_FOLDERS) or path in single or (libraries and path.startswith(libraries))
        return root + path if wanted and not path.startswith(_REAL) else path

    return led


def _led(call: Callable[..., Any], redirect: Callable[[str], str], lists: bool = False) -> Callable[..., Any]:
    root = redirect("/sys").removesuffix("/sys")

    def led(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
        if isinstance(path, str | os.PathLike) and not isinstance(name := os.fspath(path), bytes):
            if lists and name.rstrip("/") == _LISTED:
                return call(root + _LISTED, *args, **kwargs)
            if (other := redirect(name)) != name:
                return call(other, *args, **kwargs)
        return call(path, *args, **kwargs)

    return led


def _give_addresses(kind: Kind) -> None:
    """The C library tells the addresses of the machine to whoever asks for facts."""
    from nccltool.hosts.facts import Address
    from nccltool.hosts.sources import interfaces

    hardware = {nic.name for nic in kind.nics}
    named = [("lo", ipaddress.IPv4Interface("127.0.0.1/8")), *ipv4_of(kind)]
    flags = {"lo": 0x49, **dict.fromkeys(hardware, 0x1043)}
    links = [(name, flags[name], None) for name in flags]
    addresses = [
        (
            name,
            flags.get(name, 0x1003),
            Address(interface=name, address=str(own.ip), prefix_len=own.network.prefixlen, family="AF_INET"),
        )
        for name, own in named
    ]
    interfaces.__dict__["getifaddrs"] = lambda: [*links, *addresses]
