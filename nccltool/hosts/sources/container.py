"""What this process may do and see: container, capabilities, namespaces, device files, daemons."""

import ctypes
import os
from collections.abc import Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Container, DeviceFile, Services, Setting, Text
from nccltool.hosts.facts.leaves import Count, Flag, NotKnown, known, or_none, or_unknown, then
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts")
_INITIAL_PID = "pid:[4026531836]"
"""PROC_PID_INIT_INO of the kernel: the number of the host's own PID namespace."""
_MARKS = {
    "/.dockerenv": "docker", "/run/.containerenv": "podman", "/.singularity.d": "apptainer",
    "/run/enroot": "enroot", "/var/run/secrets/kubernetes.io": "kubernetes",
}  # fmt: skip
_IN_CGROUP = {
    "kubepods": "kubernetes", "docker": "docker", "libpod": "podman", "containerd": "other", "lxc": "lxc",
}  # fmt: skip
_NAMED = {"lxc-libvirt": "lxc", **{name: name for name in ("lxc", "systemd-nspawn", "docker", "podman")}}
"""What /run/systemd/container says."""
_FOLDERS = ("/dev", "/dev/infiniband", "/dev/nvidia-caps", "/dev/nvidia-caps-imex-channels", "/dev/dri")
_PREFIXES = (
    "/dev/nvidia", "/dev/infiniband/", "/dev/gdrdrv", "/dev/kfd", "/dev/dri/render", "/dev/dxg",
    "/dev/aperture_devices", "/dev/knem", "/dev/xpmem", "/dev/hfi1",
)  # fmt: skip
_DAEMONS = (
    "nv-fabricmanager", "nvidia-imex", "nvidia-persistenced", "nv-hostengine", "chronyd", "ntpd",
    "systemd-timesyncd", "ptp4l", "phc2sys", "irqbalance", "opensm", "numad", "ibacm", "sharp_am", "sharpd",
    "firewalld",
)  # fmt: skip
_CUT = {name[:15]: name for name in _DAEMONS}
"""The kernel keeps fifteen letters."""
_GET_MEMPOLICY = {"x86_64": 239, "aarch64": 236}


def read(tree: Tree, env: Mapping[str, str], seconds: float) -> Container:
    """Who we are, and what is open to us."""
    runtime, evidence = _runtime(tree, env)
    uid = _status(tree, "Uid")
    return Container(
        inside=then(runtime, bool),
        runtime=runtime,
        evidence=evidence,
        uid=uid,
        capabilities=_status(tree, "CapEff", 16),
        bounding=_status(tree, "CapBnd", 16),
        seccomp=_status(tree, "Seccomp"),
        no_new_privs=then(_status(tree, "NoNewPrivs"), bool),
        user_namespace=then(
            tree.lines("/proc/self/uid_map"),
            lambda lines: [line.split() for line in lines] != [["0", "0", "4294967295"]],
        ),
        pid_namespace=then(tree.link("/proc/self/ns/pid"), lambda pid: pid != _INITIAL_PID),
        namespaces=tuple(Setting(name=name, value=tree.link(f"/proc/self/ns/{name}")) for name in _NAMESPACES),
        devices=_devices(tree, uid),
        mempolicy=_mempolicy() if tree.live else Unknown(CAPTURED),
    )


@or_unknown
def daemons(tree: Tree) -> tuple[str, ...]:
    if known(tree.link("/proc/self/ns/pid")) != _INITIAL_PID:
        raise NotKnown("the host's daemons are in another PID namespace")
    seen = {tree.text(f"/proc/{pid}/comm") for pid in known(tree.names("/proc")) if pid.isdigit()}
    return tuple(sorted(_CUT[name] for name in seen if isinstance(name, str) and name in _CUT))


def _status(tree: Tree, name: str, base: int = 10) -> Count:
    return then(tree.row("/proc/self/status", name), lambda text: int(text.split()[0], base))


def _runtime(tree: Tree, env: Mapping[str, str]) -> tuple[Text, str]:
    """(name, what told); '' = on the host itself, as far as anything tells."""
    if env.get("KUBERNETES_SERVICE_HOST"):
        return "kubernetes", "KUBERNETES_SERVICE_HOST"
    for path, name in _MARKS.items():
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
    roots = [words[0] for point, words in or_none(tree.mounts()) or () if point == "/"]
    if roots[-1:] == ["overlay"]:  # no distribution boots from one; live images do
        return "other", "the root is an overlay"
    return "", ""


@or_unknown
def _devices(tree: Tree, uid: Count) -> tuple[DeviceFile, ...]:
    paths: list[str] = []
    for folder in _FOLDERS:
        names = tree.names(folder, absent=Unknown("/dev does not exist") if folder == "/dev" else ())
        paths += [f"{folder}/{name}" for name in known(names)]
    wanted = [path for path in paths if path.startswith(_PREFIXES) and path not in _FOLDERS]
    return tuple(_device(tree, path, uid) for path in wanted)


def _device(tree: Tree, path: str, uid: Count) -> DeviceFile:
    if tree.live:
        may = [os.access(path, mode) for mode in (os.R_OK, os.W_OK)]
        opened = _opens(path) if "/uverbs" in path and all(may) else True
        return DeviceFile(path=path, readable=may[0] and opened, writable=may[1] and opened)
    # of the stand-in for the device, what others may
    bits = then(tree.stat(path), lambda found: 0o6 if uid == 0 else found.st_mode)
    readable, writable = then(bits, lambda mode: bool(mode & 4)), then(bits, lambda mode: bool(mode & 2))
    return DeviceFile(path=path, readable=readable, writable=writable)


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
        return Unknown("system call number unknown for this CPU architecture")
    mode = ctypes.c_int()
    answer = ctypes.CDLL(None, use_errno=True).syscall(number, ctypes.byref(mode), None, 0, None, 0)
    return bool(answer == 0)


SOURCES = (
    Source("container", "container", read),
    Source.quick("services", "services", lambda tree: Services(running=daemons(tree))),
)
