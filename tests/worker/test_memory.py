"""What is given back between steps."""

import pytest
import torch

from nccltool.worker import memory

pytestmark = [pytest.mark.torch]


def test_a_host_has_nothing_of_cuda_to_give_back() -> None:
    memory.give_back(torch.device("cpu"))
    assert not torch.cuda.is_initialized()


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_a_gpu_gets_back_what_was_freed() -> None:
    device = torch.device("cuda", 0)
    del_me = torch.empty(2**28, device=device)
    del del_me
    assert torch.cuda.memory_reserved(device) >= 2**30
    memory.give_back(device)
    assert torch.cuda.memory_reserved(device) < 2**30
