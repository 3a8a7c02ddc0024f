"""Names that engines read, and slips of one letter in them."""

from itertools import combinations

import msgspec
import pytest

from nccltool.hosts.nccl import engine_names, spelling, variables


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("VLLM_LOGING_LEVEL", ["VLLM_LOGGING_LEVEL"]),
        ("VLLM_WORKER_MULTIPROCS_METHOD", ["VLLM_WORKER_MULTIPROC_METHOD"]),
        ("VLLM_NIXL_SIDE_CHANENL_HOST", ["VLLM_NIXL_SIDE_CHANNEL_HOST"]),
        ("VLLM_HOSTIP", ["VLLM_HOST_IP"]),
        ("NVTE_FUSE_ATTN", ["NVTE_FUSED_ATTN"]),
        ("RAY_memory_monitor_refesh_ms", ["RAY_memory_monitor_refresh_ms"]),
        ("VLLM_USE_V2", []),  # a digit: another release has it
        ("VLLM_CACHE_ROOTS", []),
        ("VLLM_ROCM_USE_AITER_MXA", []),  # a short word
        ("PARALLELISM_CONFIG_EP_SIZE", []),
        ("VLLM_LOGGING_LEVEL", []),
        ("VLLM_MY_PLUGIN_OPTION", []),
        ("OTHER_LOGING_LEVEL", []),
        ("MC_", []),
    ],
)
def test_slips(written: str, meant: list[str]) -> None:
    assert list(engine_names.meant(written)) == meant
    assert [guess.name for guess in spelling.meant(written)] == meant


def test_no_real_name_is_a_slip_of_another() -> None:
    """What engines tell apart, names of their next releases may tell apart, too."""
    pairs = combinations(sorted(engine_names.every()), 2)
    near = [pair for pair in pairs if abs(len(pair[0]) - len(pair[1])) < 2 and engine_names._is_slip(*pair)]
    assert near == []


def test_engines_say_where_their_names_are_from() -> None:
    engines = msgspec.json.decode(engine_names._FILE.read_bytes())
    assert all(one["component"] and one["source"] and one["names"] for one in engines)
    others = {*variables.every(), *spelling.neighbors()}
    assert sorted(others & engine_names.every().keys()) == []
    assert [name for name in engine_names.every() if not name.startswith(engine_names.BEGINNINGS)] == []
