"""Paper machines of captured hosts: what torch tells there is what their files tell."""

from typing import Any

from tests.captured_hosts.kinds import AMD, KINDS
from tests.papergpu.machine import PaperMachine

NCCL, RCCL = (2, 27, 3), (2, 22, 3)


def paper(name: str, **changes: Any) -> PaperMachine:
    """The machine of a kind of captured host."""
    kind = KINDS[name]
    is_amd = kind.make is AMD
    told: dict[str, Any] = {
        "name": name,
        "kind": name,
        "gpus": kind.gpus if kind.given is None else len(kind.given),
        "gpu_name": kind.gpu.removesuffix(" OAM"),
        "uuid_prefix": kind.uuid(0)[4:12],
        "memory_bytes": kind.gpu_memory_bytes,
        "vendor": "amd" if is_amd else "nvidia",
        "cuda_version": "6.4.43482" if is_amd else "12.8",
        "nccl_version": RCCL if is_amd else NCCL,
    }
    return PaperMachine(**{**told, **changes})


def env_of(name: str) -> dict[str, str]:
    """What the maker of a machine has its users set."""
    return dict(KINDS[name].env)
