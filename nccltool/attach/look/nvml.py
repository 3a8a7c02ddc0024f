"""python -m nccltool.attach.look.nvml: what NVML says of each GPU, as JSON.

A process of its own, since a call into a driver that hangs never returns.
"""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import msgspec

from nccltool.attach.look.gpu_words import bus, reasons
from nccltool.attach.seen.sources import GpuState

MODULE = ("-P", "-m", "nccltool.attach.look.nvml")
_SM_CLOCK, _GPU_SENSOR, _UNCORRECTED, _VOLATILE = 1, 0, 1, 0
"""Of nvml.h: NVML_CLOCK_SM, NVML_TEMPERATURE_GPU, and the kinds of ECC errors and counters."""

_MOST_LINKS = 18
"""NVML_NVLINK_MAX_LINKS."""
_ERRORS = (0, 1)
"""NVML_NVLINK_ERROR_DL_REPLAY and _RECOVERY: errors of the checksum alone are repaired."""


def states(nvml: Any) -> Iterator[GpuState]:
    """Raises NVMLError where NVML does not start."""
    nvml.nvmlInit()
    try:
        for index in range(nvml.nvmlDeviceGetCount()):
            yield _state(nvml, index)
    finally:
        nvml.nvmlShutdown()


def _state(nvml: Any, index: int) -> GpuState:
    def ask(name: str, *given: Any) -> Any:
        """None: the GPU, the driver, or the library does not have it."""
        function: Callable[..., Any] | None = getattr(nvml, name, None)
        try:
            return None if function is None else function(handle, *given)
        except nvml.NVMLError:
            return None

    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError:  # it fell off the bus
        return GpuState(index=index, vendor="nvidia")
    used, power = ask("nvmlDeviceGetUtilizationRates"), ask("nvmlDeviceGetPowerUsage")
    limit = ask("nvmlDeviceGetEnforcedPowerLimit")
    memory, running = ask("nvmlDeviceGetMemoryInfo"), ask("nvmlDeviceGetComputeRunningProcesses")
    slowed = ask("nvmlDeviceGetCurrentClocksEventReasons")
    slowed = ask("nvmlDeviceGetCurrentClocksThrottleReasons") if slowed is None else slowed
    links = [bool(one) for one in _each_link(ask, "nvmlDeviceGetNvLinkState")]
    errors = (ask("nvmlDeviceGetNvLinkErrorCounter", link, kind) for link in range(len(links)) for kind in _ERRORS)
    known = [one for one in errors if one is not None]
    return GpuState(
        index=index,
        uuid=_text(ask("nvmlDeviceGetUUID")),
        bus=bus(_text(getattr(ask("nvmlDeviceGetPciInfo"), "busId", ""))),
        vendor="nvidia",
        utilization=None if used is None else used.gpu / 100,
        power_w=None if power is None else power / 1000,
        power_limit_w=None if limit is None else limit / 1000,
        clock_mhz=ask("nvmlDeviceGetClockInfo", _SM_CLOCK),
        highest_clock_mhz=ask("nvmlDeviceGetMaxClockInfo", _SM_CLOCK),
        temperature_c=ask("nvmlDeviceGetTemperature", _GPU_SENSOR),
        slowed_by=() if slowed is None else reasons(slowed),
        uncorrected_errors=ask("nvmlDeviceGetTotalEccErrors", _UNCORRECTED, _VOLATILE),
        memory_bytes=None if memory is None else memory.used,
        pids=None if running is None else tuple(one.pid for one in running),
        links_up=sum(links) if links else None,
        links_down=links.count(False) if links else None,
        link_errors=sum(known) if known else None,
    )


def _each_link(ask: Callable[..., Any], name: str) -> Iterator[Any]:
    """Up to the first that the GPU does not have."""
    for link in range(_MOST_LINKS):
        if (found := ask(name, link)) is None:
            return
        yield found


def _text(value: str | bytes | None) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value or ""


def main() -> None:
    nvml = import_module("pynvml")
    try:
        found = tuple(states(nvml))
    except nvml.NVMLError as error:
        sys.exit(f"NVML: {error}")
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")


if __name__ == "__main__":
    main()
