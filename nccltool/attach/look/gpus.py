"""The GPUs of this host: by NVML, else nvidia-smi; amd-smi on AMD. A driver that hangs costs a deadline only.

A child that waits in the kernel cannot be killed, so that none is waited for.
"""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.util import find_spec

import msgspec

from nccltool.attach.look import amd_smi, nvidia_smi, nvml
from nccltool.attach.seen.job import Unread
from nccltool.attach.seen.sources import GpuState
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree

DEADLINE_S = 8.0
"""nvidia-smi took about a second on hosts of eight GPUs without persistence mode."""
_LARGEST = 1 << 20
_left: list[subprocess.Popen[bytes]] = []
"""Children that did not end when they were killed."""
Answer = tuple[GpuState, ...] | Unknown


def read(host: str, tree: Tree) -> tuple[tuple[GpuState, ...], tuple[Unread, ...]]:
    """None where no driver is loaded."""
    found: list[GpuState] = []
    unread: list[Unread] = []
    if tree.exists("/proc/driver/nvidia/version") is True or tree.exists("/dev/nvidiactl") is True:
        _take(_nvidia(), "GPUs (NVIDIA)", host, found, unread)
    if tree.exists("/dev/kfd") is True:
        _take(_amd(), "GPUs (AMD)", host, found, unread)
    return tuple(found), tuple(unread)


def _take(answer: Answer, what: str, host: str, found: list[GpuState], unread: list[Unread]) -> None:
    if isinstance(answer, Unknown):
        needs = "pip install nvidia-ml-py" if "nvidia-smi not found" in answer.reason else ""
        unread.append(Unread(what=what, reason=answer.reason, missing=needs, host=host))
    else:
        found += answer


def _nvidia() -> Answer:
    if find_spec("pynvml") is not None:
        out = _said((sys.executable, *nvml.MODULE))
        if not isinstance(out, Unknown):
            try:
                return msgspec.json.decode(out, type=tuple[GpuState, ...])
            except ValueError as error:
                return Unknown(f"NVML: {error}")
        if "did not return" in out.reason:
            return out
    if shutil.which("nvidia-smi") is None:
        return Unknown("nvidia-ml-py and nvidia-smi not found")
    out = _said(nvidia_smi.query(nvidia_smi.REASONS[0]))
    if isinstance(out, Unknown) and "not a valid field" in out.reason:
        out = _said(nvidia_smi.query(nvidia_smi.REASONS[1]))
    if isinstance(out, Unknown):
        return out
    processes = _said(nvidia_smi.PROCESSES)
    try:
        found = nvidia_smi.states(out, "" if isinstance(processes, Unknown) else processes)
    except ValueError as error:
        return Unknown(str(error))
    if len(found) < 2:
        return found
    told = [_said(argv) for argv in (nvidia_smi.LINKS, nvidia_smi.LINK_ERRORS)]
    status, errors = ("" if isinstance(one, Unknown) else one for one in told)
    return nvidia_smi.with_links(found, status, errors)


def _amd() -> Answer:
    if shutil.which("amd-smi") is None:
        return Unknown("amd-smi not found")
    out = _said(amd_smi.METRICS)
    if isinstance(out, Unknown):
        return out
    processes = _said(amd_smi.PROCESSES)
    try:
        return amd_smi.states(out, "" if isinstance(processes, Unknown) else processes)
    except ValueError as error:
        return Unknown(str(error))


def _said(argv: Sequence[str]) -> str | Unknown:
    """What a command prints."""
    name = "NVML" if argv[0] == sys.executable else argv[0]
    try:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except OSError as error:
        return Unknown(f"{name} cannot be started: {error.strerror}")
    try:
        out, err = child.communicate(timeout=DEADLINE_S)
    except subprocess.TimeoutExpired:
        _give_up(child)
        return Unknown(f"{name} did not return within {DEADLINE_S:g} s")
    text = out[:_LARGEST].decode(errors="replace")
    if child.returncode:
        lines = (
            err.decode(errors="replace").strip() or text.strip() or f"exit code {child.returncode}"
        ).splitlines()
        return Unknown(f"{name}: {lines[-1][:200]}")
    return text


def _give_up(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    for stream in (child.stdout, child.stderr):
        if stream is not None:
            stream.close()
    try:
        child.wait(timeout=0.5)
    except subprocess.TimeoutExpired:  # it waits in the kernel
        _left.append(child)
