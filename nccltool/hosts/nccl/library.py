"""What the real libnccl on this host answers, as far as it gets without a GPU: files read, interface chosen.

ncclGetUniqueId reads the configuration files, chooses the interface of bootstrap and listens there; it needs no
driver. It is called in a child process (`python -m nccltool.hosts.nccl.library LIBRARY`), as NCCL reads its
environment only once, and starts a thread.
"""

import ctypes
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any

from nccltool.core import external_commands
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version, of_code

SECONDS = 20.0
"""The deadline of one question; it takes 0.1 s."""
OVERRIDDEN = {"NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,ENV,BOOTSTRAP", "NCCL_DEBUG_FILE": ""}
"""Set for the question, so that the log tells what was chosen."""
_USING = re.compile(r"Bootstrap ?: Using (\S+)<\d+>$", re.MULTILINE)
_RS = "\x1e"


@dataclass(frozen=True, kw_only=True, slots=True)
class LibraryAnswer:
    """What NCCL said."""

    version: Version
    code: int
    """0 = success."""
    error: str
    """NCCL's own words when it failed."""
    interface: str | None
    """Of bootstrap; None = it failed."""
    address: str | None
    environment: tuple[tuple[str, str], ...]
    """Variables of NCCL after it has read its configuration files, without those of the question."""


def ask(library: str, environment: Mapping[str, str], timeout_s: float = SECONDS) -> LibraryAnswer | Unknown:
    """Ask a libnccl, in a process with this environment."""
    argv = [sys.executable, "-m", "nccltool.hosts.nccl.library", library]
    done = external_commands.run(argv, timeout_s, {**environment, **OVERRIDDEN})
    if isinstance(done, Unknown):
        return done
    log, found, said = done.out.rpartition(_RS)
    if not found:
        last = (done.err.strip() or done.out.strip() or f"exit code {done.code}").splitlines()[-1]
        return Unknown(f"cannot query {library}: {last}")
    return answer(json.loads(said), log)


def answer(said: Mapping[str, Any], log: str) -> LibraryAnswer:
    """What `question` said, with the interface that the log names."""
    using = _USING.search(log)
    interface, address = _split(using[1]) if using else (None, None)
    ours = [pair for pair in said["environment"] if pair[0].startswith("NCCL_") and pair[0] not in OVERRIDDEN]
    return LibraryAnswer(
        version=of_code(said["version"]),
        code=said["code"],
        error=said["error"],
        interface=interface,
        address=address,
        environment=tuple((name, value) for name, value in ours),
    )


def _split(text: str) -> tuple[str, str]:
    """(interface, address) in `eth0:10.0.0.1`, `eth0:1:10.0.0.1` (an alias), `eth0:fe80::1%eth0`."""
    name, _, address = text.rpartition(":")
    if "." not in address or ":" in address:
        name, _, address = text.partition(":")
    return name, address.partition("%")[0]


class _Id(ctypes.Structure):
    _fields_ = (("internal", ctypes.c_char * 128),)


def question(library: ctypes.CDLL) -> dict[str, Any]:
    """Call ncclGetUniqueId in this process, once."""
    version, identity = ctypes.c_int(), _Id()
    library.ncclGetVersion(ctypes.byref(version))
    code = library.ncclGetUniqueId(ctypes.byref(identity))
    library.ncclGetLastError.restype = ctypes.c_char_p
    error = (library.ncclGetLastError(None) or b"").decode(errors="backslashreplace")
    ctypes.CDLL(None).fflush(None)
    return {"version": version.value, "code": code, "error": error, "environment": list(_environment())}


def _environment() -> Iterator[tuple[str, str]]:
    """The variables as the C library has them: Python does not see what setenv changed."""
    entries = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
    for entry in takewhile(lambda entry: entry is not None, map(entries.__getitem__, count())):
        name, _, value = entry.decode(errors="backslashreplace").partition("=")
        yield name, value


if __name__ == "__main__":
    os.write(1, (_RS + json.dumps(question(ctypes.CDLL(sys.argv[1])))).encode())
    os._exit(0)
