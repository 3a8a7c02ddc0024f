"""What a paper machine is: tests write it, `site/sitecustomize.py` reads it in every process of a command."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

GIB = 1 << 30
SITE = Path(__file__).parent / "site"
VARIABLE = "PAPER_GPU"
"""Names the file that describes the machine; without it nothing happens."""


@dataclass(frozen=True, kw_only=True)
class PaperFault:
    """What goes wrong on the device of a rank."""

    rank: int
    call: int
    """The first call of a collective is 0; counted over all groups of the rank."""
    kind: str
    """One of site/faults.py."""
    seconds: float = 0.0
    """For slow: how long each call takes from then on."""


@dataclass(frozen=True, kw_only=True)
class PaperMachine:
    """A host with GPUs, as torch and the files of the kernel tell it."""

    name: str
    kind: str | None = None
    """One of tests.captured_hosts: /sys and /proc are read there; None = those of this machine."""
    gpus: int = 8
    gpu_name: str = "NVIDIA H100 80GB HBM3"
    uuid_prefix: str = "aaaaaaaa"
    """The first 8 characters of each UUID."""
    memory_bytes: int = 80 * GIB
    free_bytes: tuple[int, ...] | None = None
    """What is free on each GPU before a command starts; None = all of it."""
    vendor: str = "nvidia"
    """nvidia or amd."""
    cuda_version: str = "12.8"
    """That torch was built with; of AMD, HIP's."""
    nccl_version: tuple[int, int, int] = (2, 27, 3)
    torch_usable: bool | str = True
    """False: a torch for CPUs. A text: what CUDA's initialisation raises, while NVML still counts them."""
    nvml_error: str | None = None
    """What NVML's initialisation says; torch then asks CUDA how many GPUs there are."""
    usable_ranks: tuple[int, ...] | None = None
    """Ranks that see the GPUs; None = all."""
    dead_gpu: int | None = None
    """Counted, and fails when it is used."""
    watchdog: bool = True
    """Whether NCCL's watchdog looks."""
    watchdog_s: float | None = None
    """How long a call may take before it ends the process; None = the time-out of its group."""
    slow_call_s: float = 0.0
    """How long each collective takes at least."""
    bus_bytes_per_s: float | None = None
    """Bus bandwidth of the collectives on the device's own clock; None = they take there what they take here."""
    latency_s: float = 5e-6
    """What each takes besides, on that clock: about as much as NCCL's smallest call in one host."""
    kernel_s: float | None = None
    """How long each operator keeps the device busy on its own clock; launching it takes what the operator takes
    here. None = operators are done when they are launched."""
    instant_launch: bool = False
    """On the device's own clock calls are there as soon as they can begin, however slow the host is."""
    first_call_s: float = 0.0
    """How long the first collective of a group takes at least: NCCL makes its communicator then."""
    start_s: float = 0.0
    """How long a rank waits for its driver."""
    faults: tuple[PaperFault, ...] = ()

    def write(self, folder: Path) -> dict[str, str]:
        """The file that describes it, in `folder`; the environment of a command that is to believe in it."""
        file = folder / f"{self.name}.json"
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(asdict(self)))
        return {VARIABLE: str(file), "PYTHONPATH": f"{SITE}:{SITE.parents[2]}"}


def read(file: Path) -> PaperMachine:
    """What `write` wrote."""
    told = json.loads(file.read_text())
    faults = tuple(PaperFault(**fault) for fault in told.pop("faults"))
    return PaperMachine(
        **{one.name: _frozen(told[one.name]) for one in fields(PaperMachine) if one.name in told}
        | {"faults": faults}
    )


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def visible(env: Mapping[str, str], machine: PaperMachine) -> tuple[int, ...]:
    """Numbers of the GPUs that a process with this environment sees, as CUDA and HIP read their masks."""
    seen = tuple(range(machine.gpus))
    masks = ["CUDA_VISIBLE_DEVICES"]
    if machine.vendor == "amd":
        hip = "HIP_VISIBLE_DEVICES" if "HIP_VISIBLE_DEVICES" in env else "CUDA_VISIBLE_DEVICES"
        masks = ["ROCR_VISIBLE_DEVICES", hip]
    for name in masks:
        if name in env:
            seen = _masked(env[name], seen, machine)
    return seen


def _masked(mask: str, seen: tuple[int, ...], machine: PaperMachine) -> tuple[int, ...]:
    """The first word that names no device hides it and all after it; one that comes twice hides all."""
    if mask.startswith("MIG-"):
        return seen[:1]
    chosen: list[int] = []
    for word in mask.split(","):
        if word.strip().isdecimal() and int(word) < len(seen):
            chosen.append(seen[int(word)])
        elif word.strip().startswith("GPU-") and (found := _named(word.strip(), seen, machine)) is not None:
            chosen.append(found)
        else:
            break
    return tuple(chosen) if len(set(chosen)) == len(chosen) else ()


def _named(prefix: str, seen: tuple[int, ...], machine: PaperMachine) -> int | None:
    found = [number for number in seen if f"GPU-{uuid_of(machine, number)}".startswith(prefix)]
    return found[0] if len(found) == 1 else None


def uuid_of(machine: PaperMachine, number: int) -> str:
    """The UUID of a GPU, without what vendors put before it."""
    return f"{machine.uuid_prefix:0<8.8}-0000-4000-8000-{number:012x}"
