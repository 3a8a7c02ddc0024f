"""Cases of nccltool/doctor/rules/affinity.py."""

from typing import Any

from nccltool.hosts.facts import Cpu
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import NO_GPUS, limits, nvidia, pci

_MACHINE: dict[str, Any] = {"pci": pci(), "nvidia": nvidia()}
_FIRST_SOCKET, _BOTH = Cpu(allowed="0-31"), Cpu(allowed="0-95")
_IGNORE = {"NCCL_IGNORE_CPU_AFFINITY": "1"}

CASES = (
    of(
        "AFF001",
        fires=[
            host(cpu=_FIRST_SOCKET, **_MACHINE),
            host({"LOCAL_RANK": "7"}, cpu=_FIRST_SOCKET, **_MACHINE),
            host({"CUDA_VISIBLE_DEVICES": "6"}, cpu=_FIRST_SOCKET, **_MACHINE),
        ],
        silent=[
            host(cpu=_BOTH, **_MACHINE),
            host({"LOCAL_RANK": "0"}, cpu=_FIRST_SOCKET, **_MACHINE),
            host({"CUDA_VISIBLE_DEVICES": "7,1", "LOCAL_RANK": "1"}, cpu=_FIRST_SOCKET, **_MACHINE),
            host(_IGNORE, cpu=_FIRST_SOCKET, **_MACHINE),
            host(cpu=_FIRST_SOCKET, nvidia=NO_GPUS),
        ],
        unknown=[UNREAD, host(nvidia=nvidia()), host(**_MACHINE, cpu=Cpu(allowed="all")), host(cpu=_BOTH)],
    ),
    of(
        "AFF002",
        fires=[host(_IGNORE, limits=limits(cpuset="0-31"), **_MACHINE)],
        silent=[
            host(),
            host(_IGNORE, limits=limits(), **_MACHINE),
            host({"NCCL_IGNORE_CPU_AFFINITY": "0"}),
            host({**_IGNORE, "LOCAL_RANK": "1"}, limits=limits(cpuset="0-31"), **_MACHINE),
        ],
        unknown=[UNREAD, host(_IGNORE, **_MACHINE)],
    ),
    of(
        "AFF003",
        fires=[
            host({"NCCL_PROXY_CPUSET": "0-7"}),
            host({"NCCL_PROXY_CPUSET": "all"}),
            host({"NCCL_PROXY_CPUSET": "0,200"}, cpu=_BOTH),
        ],
        silent=[
            host(),
            host({"NCCL_PROXY_CPUSET": "0,1,0x5"}, cpu=_BOTH),
            host({"NCCL_PROXY_CPUSET": ""}),
        ],
        unknown=[UNREAD, host({"NCCL_PROXY_CPUSET": "1"})],
    ),
)
