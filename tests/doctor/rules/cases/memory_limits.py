"""Cases of nccltool/doctor/rules/machine/memory_limits.py."""

from nccltool.hosts.facts import Cpu, Kernel, Setting
from tests.doctor.rules.base import host, of
from tests.doctor.rules.parts import NO_GPUS, limits, nvidia


def _sysctl(name: str, value: str) -> Kernel:
    return Kernel(sysctls=(Setting(name=name, value=value),))


_STRICT, _MAPS = _sysctl("vm.overcommit_memory", "2"), _sysctl("vm.max_map_count", "8192")
_TORCHRUN = {"TORCHELASTIC_RUN_ID": "7", "LOCAL_WORLD_SIZE": "8"}
_SMALL = limits(address_space_soft_bytes=64 << 30)

CASES = (
    of(
        "LIM013",
        fires=[
            host(nvidia=nvidia(), limits=_SMALL, cpu=Cpu(memory_bytes=1 << 40)),
            host(nvidia=nvidia(), limits=_SMALL),
        ],
        silent=[
            host(limits=_SMALL, nvidia=NO_GPUS),
            host(nvidia=nvidia(), limits=limits(address_space_soft_bytes=None)),
        ],
        unknown=[host(nvidia=nvidia())],
    ),
    of(
        "LIM014",
        fires=[host(nvidia=nvidia(), kernel=_STRICT)],
        silent=[
            host(nvidia=NO_GPUS, kernel=_STRICT),
            host(nvidia=nvidia(), kernel=_sysctl("vm.overcommit_memory", "1")),
        ],
        unknown=[host(nvidia=nvidia())],
    ),
    of(
        "LIM015",
        fires=[host(nvidia=nvidia(), kernel=_MAPS)],
        silent=[
            host(nvidia=NO_GPUS, kernel=_MAPS),
            host(nvidia=nvidia(), kernel=_sysctl("vm.max_map_count", "65530")),
        ],
        unknown=[host(nvidia=nvidia())],
    ),
    of(
        "LIM017",
        fires=[
            host({**_TORCHRUN, "SLURM_CPUS_ON_NODE": "1"}),
            host({"PET_NPROC_PER_NODE": "8", "SLURM_CPUS_PER_TASK": "4"}),
            host(_TORCHRUN, cpu=Cpu(allowed="0,64")),
            host({"SLURM_PROCID": "0", "SLURM_STEP_ID": "0"}, cpu=Cpu(allowed="3")),
        ],
        silent=[
            host({**_TORCHRUN, "SLURM_CPUS_ON_NODE": "64"}, cpu=Cpu(allowed="0-63")),
            host(_TORCHRUN),
            host({"SLURM_PROCID": "0", "SLURM_STEP_ID": "0"}, cpu=Cpu(allowed="3,67")),
            host({"SLURM_PROCID": "0"}, cpu=Cpu(allowed="3")),
            host({"LOCAL_WORLD_SIZE": "8", "SLURM_CPUS_ON_NODE": "1"}),
            host({"TORCHELASTIC_RUN_ID": "7", "LOCAL_WORLD_SIZE": "1", "SLURM_CPUS_ON_NODE": "1"}),
        ],
    ),
)
