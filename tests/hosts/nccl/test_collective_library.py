"""Which library carries the collectives: by torch, drivers and libraries, or variables."""

import pytest
from msgspec.structs import replace

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Amd, HostFacts, Nvidia, Versions
from nccltool.hosts.nccl import collective_library, settings
from nccltool.hosts.nccl.settings import NcclSettings

_CUDA, _HIP = Versions(torch_cuda="13.0", torch_hip=""), Versions(torch_cuda="", torch_hip="6.4.43482")
_NVIDIA, _AMD = Nvidia(driver="570.124.06"), Amd(driver="6.12.12")
_NONE = HostFacts(host="n1", nvidia=Nvidia(driver="", gpus=()), amd=Amd(driver="", gpus=()))


@pytest.mark.parametrize(
    ("facts", "env", "library"),
    [
        (HostFacts(host="n1"), {}, None),
        (_NONE, {"NCCL_DEBUG": "INFO", "CUDA_VISIBLE_DEVICES": "0"}, None),
        (_NONE, {"RCCL_MSCCL_ENABLE": "0"}, "RCCL"),
        (_NONE, {"HSA_NO_SCRATCH_RECLAIM": "1", "CUDA_DEVICE_MAX_CONNECTIONS": "1"}, "RCCL"),
        (_NONE, {"HIP_VISIBLE_DEVICES": "0,1"}, "RCCL"),
        (_NONE, {"LD_LIBRARY_PATH": "/opt/rocm/lib"}, "RCCL"),
        (_NONE, {"NCCL_NET_PLUGIN": "/opt/aws/lib/librccl-net.so"}, "RCCL"),
        (_NONE, {"NVIDIA_VISIBLE_DEVICES": "all"}, "NCCL"),
        (_NONE, {"NVIDIA_VISIBLE_DEVICES": "all", "HSA_XNACK": "1"}, None),
        (replace(_NONE, amd=_AMD), {}, "RCCL"),
        (replace(_NONE, nvidia=_NVIDIA), {"HSA_XNACK": "1"}, "NCCL"),
        (replace(_NONE, amd=_AMD, nvidia=_NVIDIA), {"RCCL_MSCCL_ENABLE": "1"}, "RCCL"),
        (replace(_NONE, amd=_AMD, versions=_CUDA), {}, "NCCL"),
        (replace(_NONE, nvidia=_NVIDIA, versions=_HIP), {}, "RCCL"),
        (replace(_NONE, versions=Versions(rccl="2.22.3")), {}, "RCCL"),
    ],
)
def test_the_strongest_evidence_decides(facts: HostFacts, env: dict[str, str], library: str | None) -> None:
    found = collective_library.of(settings.of(replace(facts, env=env)), facts)
    assert (None if isinstance(found, Unknown) else found) == library


def test_an_environment_that_cannot_be_read_says_nothing() -> None:
    assert collective_library.of(NcclSettings(unread="no"), _NONE) == collective_library.UNKNOWN
