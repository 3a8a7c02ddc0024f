"""Which variables go to other hosts, and which words of --remote-env are refused."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.hosts.sources import env as environment
from nccltool.launch import remote_variables

OF_THE_LIBRARIES = {
    "NCCL_DEBUG": "INFO",
    "NCCL_GPUDIRECTTCPX_CTRL_DEV": "eth0",
    "RCCL_MSCCL_ENABLE": "1",
    "OFI_NCCL_PROTOCOL": "RDMA",
    "GLOO_SOCKET_IFNAME": "eth0",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
    "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    "PYTORCH_HIP_ALLOC_CONF": "max_split_size_mb:128",
    "FI_PROVIDER": "efa",
    "FI_EFA_USE_DEVICE_RDMA": "1",
    "UCX_NET_DEVICES": "mlx5_0:1",
    "HSA_FORCE_FINE_GRAIN_PCIE": "1",
}
OF_ONE_HOST = {
    "CUDA_VISIBLE_DEVICES": "0,1",
    "HIP_VISIBLE_DEVICES": "0,1",
    "ROCR_VISIBLE_DEVICES": "0,1",
    "NVIDIA_VISIBLE_DEVICES": "all",
}
OTHERS = {"HOME": "/x", "AWS_SECRET_ACCESS_KEY": "s3cret", "FINANCE_TOKEN": "s3cret", "OMP_NUM_THREADS": "4"}
HERE = OF_THE_LIBRARIES | OF_ONE_HOST | OTHERS


@pytest.mark.parametrize(
    ("named", "more"),
    [
        (None, ()),
        ("", ()),
        (" , ", ()),
        ("NCCL_DEBUG", ()),
        ("HOME, OMP_NUM_THREADS,", ("HOME", "OMP_NUM_THREADS")),
        ("CUDA_VISIBLE_DEVICES,ROCR_VISIBLE_DEVICES", ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")),
        ("AWS_SECRET_ACCESS_KEY", ("AWS_SECRET_ACCESS_KEY",)),
    ],
)
def test_those_of_the_libraries_go_and_those_that_are_named(named: str | None, more: tuple[str, ...]) -> None:
    assert remote_variables.forwarded(named, HERE) == OF_THE_LIBRARIES | {name: HERE[name] for name in more}


def test_what_goes_there_is_looked_at_by_the_doctor_too() -> None:
    assert environment.chosen(OF_THE_LIBRARIES) == OF_THE_LIBRARIES


_LOADER = "the dynamic loader reads it when a program starts"
_PYTHON = "Python reads it when it starts"
_ELASTIC = "each rank gets its own"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("LD_PRELOAD", f"has no effect there: {_LOADER}"),
        ("LD_LIBRARY_PATH", f"has no effect there: {_LOADER}"),
        ("LD_BIND_NOW", f"has no effect there: {_LOADER}"),
        ("GLIBC_TUNABLES", "has no effect there: glibc reads it when a program starts"),
        ("MALLOC_ARENA_MAX", "has no effect there: glibc reads it when a program starts"),
        ("PYTHONPATH", f"has no effect there: {_PYTHON}"),
        ("PYTHONHASHSEED", f"has no effect there: {_PYTHON}"),
        ("PYTHON_GIL", f"has no effect there: {_PYTHON}"),
        ("RANK", f"has no effect there: {_ELASTIC}"),
        ("LOCAL_WORLD_SIZE", f"has no effect there: {_ELASTIC}"),
        ("MASTER_ADDR", f"has no effect there: {_ELASTIC}"),
        ("TORCHELASTIC_RUN_ID", f"has no effect there: {_ELASTIC}"),
        ("TMPDIR", "has no effect there: nodes have a scratch folder that is removed at the end"),
        ("PYTORCH_NVML_BASED_CUDA_CHECK", "has no effect there: nccltool itself sets it there"),
        ("NCCLTOOL_FAULT", "has no effect there: it is read here, and its value is sent with the job"),
    ],
)
def test_what_would_have_no_effect_is_refused_whether_it_is_set_or_not(name: str, message: str) -> None:
    for env in ({}, {name: "1"}):
        with pytest.raises(BadInput) as refused:
            remote_variables.forwarded(f"NCCL_DEBUG,{name}", {"NCCL_DEBUG": "INFO", **env})
        assert refused.value.message == f"--remote-env {name} {message}"
        assert refused.value.remedy


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ("A=1", "--remote-env 'A=1' is not a plain name"),
        ("NCCL_*", "--remote-env 'NCCL_*' is a pattern"),
        ("MY-VAR", "--remote-env 'MY-VAR' is not the name of a variable"),
        ("A B", "--remote-env 'A B' is not the name of a variable"),
        ("1ST", "--remote-env '1ST' is not the name of a variable"),
        ("\x1b[2J", "--remote-env '\\x1b[2J' is not the name of a variable"),
        ("NOT_SET", "--remote-env NOT_SET: it is not set here"),
        ("NCCL_NOT_SET", "--remote-env NCCL_NOT_SET: it is not set here"),
    ],
)
def test_words_that_are_no_names_of_variables_here(named: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        remote_variables.forwarded(named, {"A": "1"})
    assert refused.value.message == message
    assert refused.value.remedy
