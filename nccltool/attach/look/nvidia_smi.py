"""From the output of nvidia-smi to the state of each GPU; pure."""

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from nccltool.attach.look.gpu_words import bus, reasons
from nccltool.attach.seen.sources import GpuState

_FIELDS = (
    *("index", "uuid", "pci.bus_id", "utilization.gpu", "power.draw", "enforced.power.limit", "clocks.sm"),
    *("clocks.max.sm", "temperature.gpu", "ecc.errors.uncorrected.volatile.total", "memory.used"),
)
REASONS = ("clocks_event_reasons.active", "clocks_throttle_reasons.active")
"""The name since driver 535, and the one before."""
PROCESSES = ("nvidia-smi", "--query-compute-apps=gpu_uuid,pid", "--format=csv,noheader,nounits")

LINKS = ("nvidia-smi", "nvlink", "--status")
LINK_ERRORS = ("nvidia-smi", "nvlink", "--errorcounters")
_GPU = re.compile(r"GPU (\d{1,3}): ")
_LINK = re.compile(r"\s+Link \d{1,2}: (.{1,60})$")
_ERROR = re.compile(r"(?:Replay|Recovery) Errors: (\d{1,18})")


def query(reason: str) -> tuple[str, ...]:
    return ("nvidia-smi", f"--query-gpu={','.join((*_FIELDS, reason))}", "--format=csv,noheader,nounits")


def states(gpus: str, processes: str) -> tuple[GpuState, ...]:
    """Raises ValueError for something else."""
    pids = list(_pids(processes))
    found = tuple(_state(row) for row in _rows(gpus))
    if not found:
        raise ValueError("nvidia-smi wrote no row")
    if not pids:  # in a container, the driver names none
        return found
    return tuple(replace(one, pids=tuple(pid for uuid, pid in pids if uuid == one.uuid)) for one in found)


def _rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if any(map(str.strip, row))]


def _state(row: Sequence[str]) -> GpuState:
    if len(row) != len(_FIELDS) + 1 or not row[0].isdecimal():
        raise ValueError(f"nvidia-smi wrote {','.join(row)[:80]!r}")
    numbers = [_number(cell) for cell in row]
    used, memory, mask = numbers[3], numbers[10], _mask(row[11])
    return GpuState(
        index=int(row[0][:6]),
        uuid=row[1],
        bus=bus(row[2]),
        vendor="nvidia",
        utilization=None if used is None else used / 100,
        power_w=numbers[4],
        power_limit_w=numbers[5],
        clock_mhz=_whole(numbers[6]),
        highest_clock_mhz=_whole(numbers[7]),
        temperature_c=numbers[8],
        slowed_by=reasons(mask),
        uncorrected_errors=_whole(numbers[9]),
        memory_bytes=None if memory is None else int(memory) << 20,
    )


def with_links(gpus: Sequence[GpuState], status: str, errors: str) -> tuple[GpuState, ...]:
    """With what `nvidia-smi nvlink` says of their NVLinks."""
    states = _of_links(status)
    counts = _of_links(errors)
    return tuple(_with_links(one, states.get(one.index, []), counts.get(one.index, [])) for one in gpus)


def _of_links(text: str) -> dict[int, list[str]]:
    """`GPU 0: NVIDIA H100 (UUID: ...)`, and below it `Link 3: <inactive>` or `Link 3: Replay Errors: 0`."""
    found: dict[int, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if gpu := _GPU.match(line):
            lines = found.setdefault(int(gpu[1]), [])
        elif link := _LINK.match(line):
            lines.append(link[1])
    return found


def _with_links(gpu: GpuState, states: Sequence[str], counts: Sequence[str]) -> GpuState:
    up = [one for one in states if one.split(" ")[0].replace(".", "", 1).isdigit()]
    down = [one for one in states if "inactive" in one]
    errors = [int(found[1]) for one in counts if (found := _ERROR.fullmatch(one))]
    return replace(
        gpu,
        links_up=len(up) if up or down else None,
        links_down=len(down) if up or down else None,
        link_errors=sum(errors) if errors else None,
    )


def _number(cell: str) -> float | None:
    """[N/A], [Not Supported], [Unknown Error], and [GPU is lost] are no numbers."""
    try:
        return float(cell) if cell[:1].isdigit() and len(cell) < 16 else None
    except ValueError:
        return None


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


def _mask(cell: str) -> int:
    try:
        return int(cell, 16) if cell.startswith("0x") and len(cell) <= 18 else 0
    except ValueError:
        return 0


def _pids(text: str) -> Iterator[tuple[str, int]]:
    for row in _rows(text):
        if len(row) == 2 and row[1].isdecimal() and len(row[1]) < 10:
            yield row[0], int(row[1])
