"""The JSON of amd-smi, of both shapes that its versions have."""

import json
from typing import Any

import pytest

from nccltool.attach.look import amd_smi


def _value(value: float, unit: str) -> dict[str, Any]:
    return {"value": value, "unit": unit}


_ROW: dict[str, Any] = {
    "gpu": 0,
    "usage": {
        "gfx_activity": _value(42, "%"),
        "umc_activity": _value(1, "%"),
        "vcn_activity": [_value(0, "%"), "N/A"],
    },
    "power": {"socket_power": _value(412, "W"), "gfx_voltage": "N/A", "throttle_status": "THROTTLED"},
    "clock": {
        "gfx_0": {"clk": _value(1200, "MHz"), "min_clk": _value(500, "MHz"), "max_clk": _value(2100, "MHz")}
    },
    "temperature": {"edge": "N/A", "hotspot": _value(71, "C"), "mem": _value(60, "C")},
    "ecc": {"total_correctable_count": 3, "total_uncorrectable_count": 1},
    "mem_usage": {"used_vram": _value(2048, "MB")},
}
_PROCESSES = [{"gpu": 0, "process_list": [{"process_info": {"name": "python", "pid": 4711}}]}]


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: {"gpu_data": rows}])
def test_a_gpu(wrap: Any) -> None:
    (one,) = amd_smi.states(json.dumps(wrap([_ROW])), json.dumps(_PROCESSES))
    assert (one.index, one.vendor, one.utilization, one.power_w) == (0, "amd", 0.42, 412.0)
    assert (one.clock_mhz, one.highest_clock_mhz, one.temperature_c) == (1200, 2100, 71.0)
    assert (one.slowed_by, one.uncorrected_errors, one.pids) == (("hw_slowdown",), 1, (4711,))
    assert one.memory_bytes == 2048 << 20


def test_parts_that_are_missing_are_unknown() -> None:
    row = {"gpu": 1, "usage": "N/A", "power": {"socket_power": "N/A", "throttle_status": "N/A"}, "clock": "N/A"}
    none = [{"gpu": 1, "process_list": [{"process_info": "No running processes detected"}]}]
    (one,) = amd_smi.states(json.dumps([row]), json.dumps(none))
    assert (one.utilization, one.power_w, one.clock_mhz, one.uncorrected_errors, one.pids) == (None,) * 5
    assert one.slowed_by == ()


@pytest.mark.parametrize("text", ["", "ERROR", "[7]", '[{"x": 1}]', '{"a": 1}', '"x"'])
def test_something_else(text: str) -> None:
    with pytest.raises(ValueError, match="amd-smi wrote"):
        amd_smi.states(text, "")
