"""What this process may do and see: container, capabilities, namespaces, device files."""

import ctypes
import os
from collections.abc import Iterator, Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Container, Count, DeviceFile, Flag, Setting, Text, Texts
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
_INITIAL_PID = "pid:[4026531836]"
"""PROC_PID_INIT_INO of the kernel: the number of the host's own PID namespace."""
_MARKS = (
    ("/.dockerenv", "docker"),
    ("/run/.containerenv", "podman"),
    ("/.singularity.d", "apptainer"),
    ("/run/enroot", "enroot"),
    ("/var/run/secrets/kubernetes.io", "kubernetes"),
)
_IN_CGROUP = {
    "kubepods": "kubernetes",
    "docker": "docker",
    "libpod": "podman",
    "containerd": "other",
    "lxc": "lxc",
}
_NAMED = {
    "lxc": "lxc",
    "lxc-libvirt": "lxc",
    "systemd-nspawn": "systemd-nspawn",
    "docker": "docker",
    "podman": "podman",
}
_FOLDERS = ("/dev", "/dev/infiniband", "/dev/nvidia-caps", "/dev/nvidia-caps-imex-channels", "/dev/dri")
_PREFIXES = (
    "/dev/nvidia", "/dev/infiniband/", "/dev/gdrdrv", "/dev/kfd", "/dev/dri/render", "/dev/aperture_devices",
    "/dev/knem", "/dev/xpmem", "/dev/hfi1",
)  # fmt: skip
_GET_MEMPOLICY = {"x86_64": 239, "aarch64": 236}


def read(tree: Tree, env: Mapping[str, str]) -> Container:
    """Who we are, and what is open to us."""
    status = _status(tree)
    runtime, evidence = _runtime(tree, env)
    pid = tree.link("/proc/self/ns/pid")
    return Container(
        inside=runtime if isinstance(runtime, Unknown) else runtime != "",
        runtime=runtime,
        evidence=evidence,
        uid=_number(status, "Uid", 10),
        capabilities=_number(status, "CapEff", 16),
        bounding=_number(status, "CapBnd", 16),
        seccomp=_number(status, "Seccomp", 10),
        no_new_privs=_as_flag(_number(status, "NoNewPrivs", 10)),
        user_namespace=_user_namespace(tree),
        pid_namespace=pid if isinstance(pid, Unknown) else pid != _INITIAL_PID,
        namespaces=tuple(Setting(name=name, value=tree.link(f"/proc/self/ns/{name}")) for name in _NAMESPACES),
        devices=_devices(tree, _number(status, "Uid", 10)),
        mempolicy=_mempolicy() if tree.live else Unknown(CAPTURED),
    )


def _status(tree: Tree) -> Mapping[str, str] | Unknown:
    lines = tree.lines("/proc/self/status")
    if isinstance(lines, Unknown):
        return lines
    return {name: value.split()[0] for name, _, value in (line.partition(":") for line in lines) if value.split()}


def _number(status: Mapping[str, str] | Unknown, name: str, base: int) -> Count:
    if isinstance(status, Unknown):
        return status
    return int(status[name], base) if name in status else Unknown(f"/proc/self/status has no {name}")


def _as_flag(number: Count) -> Flag:
    return number if isinstance(number, Unknown) else bool(number)


def _runtime(tree: Tree, env: Mapping[str, str]) -> tuple[Text, str]:
    """(name, what told); '' = on the host itself, as far as anything tells."""
    if env.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes", "KUBERNETES_SERVICE_HOST"
    for path, name in _MARKS:
        if tree.exists(path) is True:
            return name, path
    told = tree.text("/run/systemd/container")
    if isinstance(told, str):
        return _NAMED.get(told, "other"), "/run/systemd/container"
    groups = tree.text("/proc/self/cgroup")
    if isinstance(groups, Unknown):
        return groups, ""
    for word, name in _IN_CGROUP.items():
        if word in groups:
            return name, "/proc/self/cgroup"
    root = _root_mount(tree)
    if root == "overlay":  # no distribution boots from one; live images do
        return "other", "the root is an overlay"
    return "", ""


def _root_mount(tree: Tree) -> str:
    lines = tree.lines("/proc/self/mountinfo")
    rows = [] if isinstance(lines, Unknown) else [line.partition(" - ") for line in lines]
    types = [right.split()[0] for left, _, right in rows if left.split()[4:5] == ["/"] and right]
    return types[-1] if types else ""


def _user_namespace(tree: Tree) -> Flag:
    lines = tree.lines("/proc/self/uid_map")
    if isinstance(lines, Unknown):
        return lines
    return [line.split() for line in lines] != [["0", "0", "4294967295"]]


def _devices(tree: Tree, uid: Count) -> tuple[DeviceFile, ...] | Unknown:
    paths: list[str] = []
    for folder in _FOLDERS:
        names: Texts = tree.names(folder, absent=Unknown("/dev does not exist") if folder == "/dev" else ())
        if isinstance(names, Unknown):
            return names
        paths += [f"{folder}/{name}" for name in names]
    wanted = [path for path in paths if path.startswith(_PREFIXES) and path not in _FOLDERS]
    return tuple(_look(tree, wanted, uid))


def _look(tree: Tree, paths: list[str], uid: Count) -> Iterator[DeviceFile]:
    for path in paths:
        if tree.live:
            may = [os.access(path, mode) for mode in (os.R_OK, os.W_OK)]
            opened = _opens(path) if "/uverbs" in path and all(may) else True
            yield DeviceFile(path=path, readable=may[0] and opened, writable=may[1] and opened)
            continue
        found = tree.stat(path)
        if isinstance(found, Unknown):
            yield DeviceFile(path=path, readable=found, writable=found)
        else:  # of the stand-in for the device, what others may
            root = uid == 0
            yield DeviceFile(
                path=path, readable=root or bool(found.st_mode & 4), writable=root or bool(found.st_mode & 2)
            )


def _opens(path: str) -> bool:
    """A cgroup may forbid what the mode allows; opening a uverbs device changes nothing."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def _mempolicy() -> Flag:
    """Docker's seccomp profile forbids it without CAP_SYS_NICE."""
    number = _GET_MEMPOLICY.get(os.uname().machine)
    if number is None:
        return Unknown("the number of this system call is not known for this processor")
    mode = ctypes.c_int()
    answer = ctypes.CDLL(None, use_errno=True).syscall(number, ctypes.byref(mode), None, 0, None, 0)
    return bool(answer == 0)


SOURCES = (Source.quick("container", "container", read),)
