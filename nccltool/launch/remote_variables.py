"""Which variables of here go to hosts that are reached by ssh, and which would come too late there. Pure.

They arrive on standard input, after the Python there has started and before anything is loaded that reads its own:
torch, OpenMP, CUDA, NCCL and its plugins.
"""

import re
from collections.abc import Mapping

from nccltool.core.errors import BadInput

OF_THE_LIBRARIES = (
    *("NCCL_", "RCCL_", "OFI_NCCL_", "GLOO_", "TORCH_", "PYTORCH_"),
    *("FI_", "UCX_", "HSA_"),  # libfabric under EFA and Slingshot, UCX under plugins, AMD's runtime under RCCL
)
"""How the names of variables begin that steer the libraries, and are no secrets. Masks of GPUs are not among them:
CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES are about the GPUs of one host."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_A_SCRIPT = 'set it in a script that ends in `exec python "$@"` and name that script with --remote-python'
_TOO_LATE = (
    (re.compile(r"LD_[A-Z_]+"), "the dynamic loader reads it when a program starts", _A_SCRIPT),
    (re.compile(r"GLIBC_TUNABLES|MALLOC_[A-Z_]+"), "glibc reads it when a program starts", _A_SCRIPT),
    (re.compile(r"PYTHON[A-Z0-9_]*"), "Python reads it when it starts", _A_SCRIPT),
)
_ELASTIC = (
    r"(?:LOCAL_|GROUP_|ROLE_)?RANK|(?:LOCAL_|GROUP_|ROLE_)?WORLD_SIZE|MASTER_(?:ADDR|PORT)|TORCHELASTIC_[A-Z_]+"
)
_OURS = (
    (re.compile(_ELASTIC), "each rank gets its own", "leave it out; --rdzv-endpoint says where rank 0 listens"),
    (re.compile(r"TMPDIR"), "nodes have a scratch folder that is removed at the end", "leave it out"),
    (re.compile(r"PYTORCH_NVML_BASED_CUDA_CHECK"), "nccltool itself sets it there", "leave it out"),
    (re.compile(r"NCCLTOOL_[A-Z_]+"), "it is read here, and its value is sent with the job", "leave it out"),
)


def is_of_the_libraries(name: str) -> bool:
    """Whether it goes to other hosts without being named, and may be kept with the run."""
    return name.startswith(OF_THE_LIBRARIES)


def forwarded(named: str | None, env: Mapping[str, str]) -> dict[str, str]:
    """Those that go there: of the libraries, and the words of --remote-env. Raises BadInput."""
    names = [word.strip() for word in (named or "").split(",") if word.strip()]
    for name in names:
        _check(name, env)
    return {name: value for name, value in env.items() if is_of_the_libraries(name) or name in names}


def _check(name: str, env: Mapping[str, str]) -> None:
    shown = f"--remote-env {name[:60]!r}"
    if "=" in name:
        raise BadInput(f"{shown} is not a plain name", "give names only; the values come from this environment")
    if "*" in name:
        raise BadInput(
            f"{shown} is a pattern",
            f"give names only; {', '.join(f'{of}*' for of in OF_THE_LIBRARIES)} are sent anyway",
        )
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"{shown} is not the name of a variable", "use letters, digits, and _, with commas between names"
        )
    for pattern, why, remedy in (*_TOO_LATE, *_OURS):
        if pattern.fullmatch(name):
            raise BadInput(f"--remote-env {name} has no effect there: {why}", remedy)
    if name not in env:
        raise BadInput(f"--remote-env {name}: it is not set here", f"export {name}=... or leave it out")
