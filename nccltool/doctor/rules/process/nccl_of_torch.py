"""The NCCL that torch loads: whether it has the functions that torch calls."""

import re

from nccltool.core.versions import Version, parse
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, listed, rule
from nccltool.hosts.facts import or_none

_WHEEL = re.compile(r"nvidia-nccl-cu(\d+)")
_BUILT_WITH = (
    ((2, 13), (2, 29)), ((2, 11), (2, 28)), ((2, 8), (2, 27)), ((2, 7), (2, 26)), ((2, 5), (2, 21)),
    ((2, 3), (2, 20)), ((2, 2), (2, 19)), ((2, 1), (2, 18)),
)  # fmt: skip
"""From a release of torch on: the NCCL that its wheels for CUDA 12 and 13 require."""
_CALLS = (((2, 11), (2, 28), "ncclAlltoAll"), ((2, 2), (2, 19), "ncclCommRegister"))
"""From a release of torch on, its wheels call a function that NCCL has from a release on."""


@rule("PLG028", "warning", covers=(), needs=("versions",))
def two_nccl_wheels(host: JudgedHost) -> Results:
    """Wheels of NCCL for two releases of CUDA are installed side by side.

    Why: Both contain nvidia/nccl/lib/libnccl.so.2, and the one installed last has overwritten the other.
    `import torch` then fails with "undefined symbol: nccl...", or torch uses an NCCL for another CUDA.
    Example: nvidia-nccl-cu12 2.29.3 and nvidia-nccl-cu13 2.29.7
    Instead: uninstall both, and install the one that torch requires again
    Source: https://github.com/pytorch/pytorch/issues/186591
    """
    known(host.facts.versions.torch)  # an empty tree has no packages either
    packages = known(host.facts.versions.packages)
    wheels = [f"{one.name} {or_none(one.value) or ''}".rstrip() for one in packages if _WHEEL.fullmatch(one.name)]
    if len(wheels) > 1:
        remedy = "pip uninstall all of them, then install the one that torch requires"
        message = f"{listed(wheels)} have overwritten each other's libnccl.so.2"
        yield report.host("libnccl.so.2", message, remedy, evidence=tuple(map(escaped, wheels)))


@rule("PLG029", "warning", covers=(), needs=("versions",), library="NCCL")
def nccl_older_than_torch(host: JudgedHost) -> Results:
    """torch loads an older NCCL series than the one that its wheel was built with.

    Why: torch calls functions that the older library lacks: `import torch` ends with "undefined symbol:
    ncclAlltoAll", for example. LD_LIBRARY_PATH, a system package, or another wheel puts it first.
    Example: torch 2.2.0+cu121 with NCCL 2.18.3 of the system
    Instead: remove the older library from LD_LIBRARY_PATH and from the loader's folders
    Source: the requirements of torch's wheels; https://github.com/pytorch/pytorch/issues/119932;
    https://github.com/pytorch/pytorch/issues/176829
    """
    text = known(host.facts.versions.torch)
    found = re.match(r"(\d+)\.(\d+)\.\d+\+cu1[23]\d$", text)  # others build torch with an NCCL of their choice
    torch = (int(found[1]), int(found[2])) if found else (0, 0)
    built = next((nccl for since, nccl in _BUILT_WITH if torch >= since), None)
    if built is None:
        return
    nccl = parse(known(host.facts.versions.nccl))
    if nccl is not None and nccl < Version(*built):
        lacks = next((name for since, has, name in _CALLS if torch >= since and nccl < Version(*has)), None)
        effect = f"it lacks {lacks}, and torch cannot be imported" if lacks else "functions may be missing"
        message = f"torch {escaped(text)} was built with NCCL {built[0]}.{built[1]}, but loads {nccl}: {effect}"
        where = or_none(host.facts.versions.libnccl) or ()
        found_in = host.facts.versions.nccl_source or "the loader's path"
        lines = tuple(f"{escaped(one.path)} ({one.origin})" for one in where[:4]) or (escaped(found_in),)
        remedy = "remove the older library, or put that of torch's wheel first"
        yield report.host("libnccl.so.2", message, remedy, evidence=lines, severity="error" if lacks else None)
