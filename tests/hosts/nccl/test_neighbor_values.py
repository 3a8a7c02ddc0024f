"""What other libraries accept: the patterns are whole, every name is known, and none is there twice."""

import re
from collections import Counter

import pytest

from nccltool.hosts.nccl import neighbor_values, spelling
from nccltool.hosts.sources import env


def test_each_name_is_known_and_kept_of_a_process() -> None:
    names = neighbor_values.every()
    assert [name for name in names if not spelling.is_known(name)] == []
    assert [name for name in names if not env.is_kept(name)] == []


def test_each_entry_is_whole() -> None:
    entries = {id(one): one for one in neighbor_values.every().values()}.values()
    assert [name for one in entries for name, count in Counter(one.names).items() if count > 1] == []
    for one in entries:
        re.compile(one.pattern)
        assert all((one.component, one.source, one.expected, one.effect, one.names))


@pytest.mark.parametrize(
    ("name", "value", "taken"),
    [
        ("UCX_MEMTYPE_CACHE", "n", True),
        ("UCX_MEMTYPE_CACHE", "false", False),
        ("UCX_RC_TIMEOUT", "1000ms", True),
        ("UCX_RC_TIMEOUT", "1h", False),
        ("FI_CXI_DEFAULT_CQ_SIZE", "131072", True),
        ("FI_CXI_DEFAULT_CQ_SIZE", "128K", False),
        ("OMPI_MCA_btl", "tcp,self", True),
        ("OMPI_MCA_btl", "^openib", True),
        ("OMPI_MCA_btl", "ib", False),
        ("CUDA_MODULE_LOADING", "LAZY\n", False),
        ("VLLM_SERVER_DEV_MODE", "1", True),
        ("VLLM_SERVER_DEV_MODE", "true", False),
        ("VLLM_SKIP_P2P_CHECK", "true", False),
        ("VLLM_RPC_BASE_PATH", "/tmp", None),
        ("VLLM_PORT", "tcp://10.0.0.1:8000", False),
        ("VLLM_WORKER_MULTIPROC_METHOD", "forkserver", False),
        ("VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS", "10m", False),
        ("SGLANG_ENABLE_JIT_DEEPGEMM", "on", False),
        ("SGLANG_ENABLE_JIT_DEEPGEMM", "True", True),
        ("MC_GID_INDEX", "3", True),
        ("MC_MTU", "9000", False),
        ("MC_LOG_LEVEL", "info", False),
        ("DEEPSPEED_TIMEOUT", "30", True),
        ("DEEPSPEED_TIMEOUT", "30m", False),
        ("ACCELERATE_USE_FSDP", "1", False),
        ("ACCELERATE_MIXED_PRECISION", "bf16", True),
        ("NVTE_FLASH_ATTN", "false", False),
        ("RAY_memory_monitor_refresh_ms", "0", True),
        ("RAY_memory_monitor_refresh_ms", "250ms", False),
    ],
)
def test_values(name: str, value: str, taken: bool | None) -> None:
    accepted = neighbor_values.every().get(name)
    assert (accepted and accepted.takes(value)) is taken
