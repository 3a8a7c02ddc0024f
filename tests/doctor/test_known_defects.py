"""A defect counts where its release, and all its conditions, are there to see."""

import pytest

from nccltool.doctor import known_defects
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Cpu, Setting, Versions
from tests.doctor.rules.base import host
from tests.doctor.rules.parts import nvidia

_MEGATRON = (Setting(name="megatron-core", value="0.11.0"),)


@pytest.mark.parametrize(
    ("looked_at", "found"),
    [
        (host({"NCCL_SET_THREAD_NAME": "1"}, nccl=(2, 12, 7)), {("thread-names", "NCCL_SET_THREAD_NAME")}),
        (host({"NCCL_SET_THREAD_NAME": "1"}, nccl=(2, 13, 4)), set()),
        (host({"NCCL_SET_THREAD_NAME": "0"}, nccl=(2, 12, 7)), set()),
        (host({"NCCL_CUMEM_ENABLE": "0"}), {("sendrecv-without-cumem", "NCCL_CUMEM_ENABLE")}),
        (host({"NCCL_CUMEM_ENABLE": "0"}, nodes=1), set()),
        (host({"NCCL_CUMEM_ENABLE": "0"}, nodes=None), set()),
        (host(nccl=(2, 28, 3), nodes=32), {("proxy-order-at-scale", None)}),
        (host(nccl=(2, 28, 3), nodes=32, local_ranks=None, nvidia=nvidia(0)), set()),
        (host(nccl=(2, 16, 2), cpu=Cpu(model="AMD EPYC 7763")), {("amd-speed", None)}),
        (
            host(nccl=None, versions=Versions(torch="2.4.1+cu121", packages=_MEGATRON)),
            {("megatron-on-torch-2.4", None)},
        ),
        (host(nccl=(2, 24, 3), nodes=1), set()),  # a release alone, or a setting that is missing
    ],
)
def test_what_is_found(looked_at: JudgedHost, found: set[tuple[str, str | None]]) -> None:
    seen = known_defects.of(looked_at)
    assert {(one.defect.name, one.variable) for one in seen} == found
