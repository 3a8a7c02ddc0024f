"""From the JSON of amd-smi to the state of each GPU; pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from nccltool.attach.look.gpu_words import bus
from nccltool.attach.seen.sources import GpuState

METRICS = ("amd-smi", "metric", "--usage", "--power", "--clock", "--temperature", "--ecc", "--mem-usage", "--json")
PROCESSES = ("amd-smi", "process", "--json")


def states(metrics: str, processes: str) -> tuple[GpuState, ...]:
    """Raises ValueError for something else."""
    try:
        rows = _rows(metrics)
        pids = {int(row["gpu"]): tuple(_pids(row)) for row in _rows(processes)} if processes.strip() else {}
        return tuple(_state(row, pids) for row in rows)
    except (KeyError, TypeError, AttributeError, RecursionError, msgspec.DecodeError) as error:
        raise ValueError(f"amd-smi wrote something else: {error}") from error


def _rows(text: str) -> list[Mapping[str, Any]]:
    """A list, which newer versions have below `gpu_data`."""
    document = msgspec.json.decode(text)
    rows = document["gpu_data"] if isinstance(document, dict) else document
    return [row for row in rows if isinstance(row["gpu"], int)]


def _state(row: Mapping[str, Any], pids: Mapping[int, tuple[int, ...]]) -> GpuState:
    used, clocks = _value(row, "usage", "gfx_activity"), _part(row, "clock", "gfx_0")
    memory, errors = _value(row, "mem_usage", "used_vram"), _value(row, "ecc", "total_uncorrectable_count")
    clock, highest = _value(clocks, "clk"), _value(clocks, "max_clk")
    has_pids = any(pids.values())
    status = _part(row, "power").get("throttle_status")
    return GpuState(
        index=row["gpu"],
        bus=bus(str(row.get("bdf", ""))),
        vendor="amd",
        utilization=None if used is None else used / 100,
        power_w=_value(row, "power", "socket_power"),
        clock_mhz=None if clock is None else int(clock),
        highest_clock_mhz=None if highest is None else int(highest),
        temperature_c=_value(row, "temperature", "hotspot"),
        slowed_by=("hw_slowdown",) if status == "THROTTLED" else (),
        uncorrected_errors=None if errors is None else int(errors),
        memory_bytes=None if memory is None else int(memory) << 20,
        pids=pids.get(row["gpu"], ()) if has_pids else None,
    )


def _part(row: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """ "N/A" stands where a whole part is missing."""
    found: Any = row
    for name in names:
        found = found.get(name) if isinstance(found, dict) else None
    return found if isinstance(found, dict) else {}


def _value(row: Mapping[str, Any], *names: str) -> float | None:
    """42, or {"value": 42, "unit": "%"}; "N/A" is none."""
    found = _part(row, *names[:-1]).get(names[-1])
    found = found.get("value") if isinstance(found, dict) else found
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _pids(row: Mapping[str, Any]) -> list[int]:
    given = row.get("process_list")
    rows = [_part(one, "process_info") or one for one in given if isinstance(one, dict)] if given else []
    return [one["pid"] for one in rows if isinstance(one.get("pid"), int)]
