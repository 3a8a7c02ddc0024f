"""Words of NVML and of nvidia-smi that both readers of GPUs need."""

_REASONS = {
    0x4: "sw_power_cap",
    0x8: "hw_slowdown",
    0x20: "sw_thermal_slowdown",
    0x40: "hw_thermal_slowdown",
    0x80: "hw_power_brake_slowdown",
}
"""nvmlClocksEventReason* of nvml.h; idle, settings, and synchronized clocks are no slowdown."""


def reasons(mask: int) -> tuple[str, ...]:
    return tuple(name for bit, name in _REASONS.items() if mask & bit)


def bus(text: str) -> str:
    """`00000000:07:00.0` as the kernel writes it: `0000:07:00.0`."""
    return text[-12:].lower()
