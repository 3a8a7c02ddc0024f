"""The output of nvidia-smi."""

import pytest

from nccltool.attach.look import nvidia_smi

_FIRST, _SECOND = "GPU-e18afb8d-1627-f8ff-2ba3-c05c5a8e9e67", "GPU-0b7d6ff0-3f6c-2f6f-5e0b-7c7a1b1f4c11"
_GPUS = f"""\
0, {_FIRST}, 00000000:07:00.0, 100, 127.43, 700.00, 1980, 1980, 41, 0, 71234, 0x0000000000000001
1, {_SECOND}, 00000000:0F:00.0, 0, 68.10, 700.00, 345, 1980, 36, 2, 4, 0x0000000000000068
"""


def test_gpus_and_their_processes() -> None:
    first, second = nvidia_smi.states(_GPUS, f"{_FIRST}, 4711\n{_FIRST}, 4712\n")
    assert (first.index, first.uuid, first.bus, first.pids) == (0, _FIRST, "0000:07:00.0", (4711, 4712))
    assert (first.utilization, first.power_w, first.power_limit_w) == (1.0, 127.43, 700.0)
    assert (first.clock_mhz, first.highest_clock_mhz, first.temperature_c) == (1980, 1980, 41.0)
    assert (first.slowed_by, first.uncorrected_errors, first.memory_bytes) == ((), 0, 71234 << 20)
    assert second.slowed_by == ("hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown")
    assert (second.uncorrected_errors, second.bus, second.pids) == (2, "0000:0f:00.0", ())


_LINKS = f"""\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: {_FIRST})
\t Link 0: 26.562 GB/s
\t Link 1: 26.562 GB/s
GPU 1: NVIDIA H100 80GB HBM3 (UUID: {_SECOND})
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
"""
_ERRORS = f"""\
GPU 1: NVIDIA H100 80GB HBM3 (UUID: {_SECOND})
\t Link 0: Replay Errors: 3
\t Link 0: Recovery Errors: 1
\t Link 0: CRC Errors: 900
"""


def test_nvlinks() -> None:
    gpus = nvidia_smi.states(_GPUS, "")
    found = nvidia_smi.with_links(gpus, _LINKS, _ERRORS)
    assert [(one.links_up, one.links_down, one.link_errors) for one in found] == [(2, 0, None), (1, 1, 4)]


@pytest.mark.parametrize("text", ["", "NVML: not supported\n", "\t Link 0: 26 GB/s\n", "GPU 0: x\n\t Link 0: ?\n"])
def test_without_nvlinks(text: str) -> None:
    gpus = nvidia_smi.states(_GPUS, "")
    assert nvidia_smi.with_links(gpus, text, text) == gpus


def test_in_a_container_processes_are_unknown() -> None:
    assert [one.pids for one in nvidia_smi.states(_GPUS, "")] == [None, None]


def test_what_a_gpu_does_not_tell_is_unknown() -> None:
    lost = "[N/A], [Unknown Error], [N/A], [GPU is lost], [N/A], ERR!, [N/A], [N/A], [N/A]"
    row = f"0, {_FIRST}, 00000000:07:00.0, {lost}"
    (one,) = nvidia_smi.states(row, "no devices were found")
    assert (one.utilization, one.power_w, one.clock_mhz, one.temperature_c) == (None,) * 4
    assert (one.uncorrected_errors, one.memory_bytes) == (None, None)
    assert one.slowed_by == ()


@pytest.mark.parametrize("text", ["No devices were found", "0, 1, 2", "x" + ", 1" * 11, '"'])
def test_something_else(text: str) -> None:
    with pytest.raises(ValueError, match="nvidia-smi wrote"):
        nvidia_smi.states(text, "")
