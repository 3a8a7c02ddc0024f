"""Cases of nccltool/doctor/rules/limits.py."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Amd, AmdGpu, Container, Cpu, Gpu, Kernel, Pci
from nccltool.hosts.facts.leaves import all_unknown
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import GB200, NO_GPUS, container, gpu, limits, namespaces, nvidia, pci

_GIB = 1 << 30
_UNLIMITED: dict[str, Any] = {"limits": limits(stack_soft_bytes=None)}
_SMALL: dict[str, Any] = {"limits": limits(stack_soft_bytes=2 << 20)}
_BATCH = {"SLURM_JOB_ID": "7"}
_UVM = container("/dev/nvidia-uvm")
_HIDDEN = Pci(devices=Unknown("/sys/bus/pci/devices does not exist"))
_LOST = nvidia(gpus=(gpu(0), all_unknown(Gpu, "NVML: GPU is lost", pci="GPU 1 of NVML")))
_NODES = Cpu(numa_nodes=("0-47", "48-95"))


def _balancing(value: str) -> Kernel:
    return Kernel(sysctls=namespaces(**{"kernel.numa_balancing": value}))


_AMD = Amd(driver="6.12.12", gpus=tuple(AmdGpu(pci=f"0000:{bus:02x}:00.0") for bus in range(8)))

CASES = (
    of(
        "LIM001",
        fires=[
            host(limits=limits(nofile_hard=4095)),
            host(limits=limits(nofile_hard=65535)),
            host(limits=limits(nofile_hard=65536), nodes=256),
        ],
        silent=[
            host(limits=limits()),
            host(limits=limits(nofile_hard=None)),
            host(limits=limits(nofile_hard=65536), nodes=None),
        ],
        unknown=[host()],
    ),
    of(
        "LIM011",
        fires=[
            host(limits=limits(nofile_soft=1024), nodes=4),
            host(limits=limits(nofile_soft=1024), amd=_AMD, nodes=1),
        ],
        silent=[
            host(limits=limits(nofile_soft=1024), amd=_AMD, nodes=1, local_ranks=4),
            host(limits=limits(nofile_soft=65536), amd=_AMD, nodes=1),
            host(limits=limits(nofile_soft=1024)),
            host(limits=limits(nofile_soft=4096), nodes=4),
            host(limits=limits(nofile_soft=None), nodes=None),
        ],
        unknown=[host(), host(limits=limits(nofile_soft=1024), nodes=None)],
    ),
    of(
        "LIM002",
        fires=[
            host(nccl=(2, 27, 7), nvidia=nvidia(), **_UNLIMITED),
            host(nccl=(2, 27, 7), nvidia=nvidia(4, GB200), **_UNLIMITED),
            host(**_UNLIMITED),
            host({"NCCL_SET_CPU_STACK_SIZE": "0"}, **_UNLIMITED),
        ],
        silent=[host(limits=limits(), nccl=None), host(nccl=(2, 27, 7), **_SMALL)],
        unknown=[host(), host(nccl=None, **_UNLIMITED)],
    ),
    of(
        "LIM003",
        fires=[
            host(nccl=(2, 27, 7), **_SMALL),
            host(**_SMALL),
            host(nccl=None, **_SMALL),
            host({"NCCL_SET_CPU_STACK_SIZE": "0"}, **_SMALL),
        ],
        silent=[host(limits=limits()), host(**_UNLIMITED)],
        unknown=[host()],
    ),
    of(
        "LIM004",
        fires=[host(_BATCH, limits=limits(remove_ipc=True), container=container())],
        silent=[
            host(limits=limits(remove_ipc=True), container=container()),
            host(_BATCH, limits=limits(), container=container()),
            host(_BATCH, limits=limits(remove_ipc=True), container=container(uid=0)),
        ],
        unknown=[UNREAD, host(_BATCH), host(_BATCH, limits=limits(remove_ipc=True))],
    ),
    of(
        "LIM005",
        fires=[host(limits=limits(cpu_cores=15.5)), host(limits=limits(cpu_cores=1.0), local_ranks=1)],
        silent=[
            host(limits=limits()),
            host(limits=limits(cpu_cores=16.0)),
            host(limits=limits(), local_ranks=None),
        ],
        unknown=[host(), host(limits=limits(cpu_cores=4.0), local_ranks=None)],
    ),
    of(
        "LIM006",
        fires=[host(limits=limits(memory_max_bytes=16 * _GIB)), host(limits=limits(oom_events=3))],
        silent=[host(limits=limits()), host(limits=limits(memory_max_bytes=32 * _GIB))],
        unknown=[
            host(),
            host(limits=limits(oom_events=Unknown("memory.events has no oom"))),
            host(limits=limits(memory_max_bytes=16 * _GIB), local_ranks=None),
        ],
    ),
    of(
        "LIM007",
        fires=[host(limits=limits(pids_max=1024)), host(limits=limits(pids_max=100), local_ranks=1)],
        silent=[host(limits=limits()), host(limits=limits(pids_max=4096))],
        unknown=[host(), host(limits=limits(pids_max=1024), local_ranks=None)],
    ),
    of(
        "LIM008",
        fires=[
            host(nvidia=nvidia(), container=container("/dev/nvidia0", inside=True)),
            host(nvidia=nvidia(), container=container("/dev/nvidia0")),
        ],
        silent=[
            host(nvidia=nvidia(), container=_UVM),
            host(nvidia=NO_GPUS),
            host(nvidia=nvidia(), container=container(), nccl=(2, 21, 5)),
        ],
        unknown=[host(), host(nvidia=nvidia()), host(nvidia=nvidia(), container=container(), nccl=None)],
    ),
    of(
        "LIM009",
        fires=[
            host(nvidia=nvidia(), pci=_HIDDEN, root="/"),
            host(nvidia=nvidia(), pci=Pci(devices=())),
            host(nvidia=nvidia(), pci=pci(4)),
            host(nvidia=_LOST, pci=pci(0)),
        ],
        silent=[host(nvidia=nvidia(), pci=pci()), host(nvidia=NO_GPUS, pci=_HIDDEN)],
        unknown=[
            host(),
            host(nvidia=nvidia(), pci=_HIDDEN, root="/captured"),
            host(nvidia=nvidia()),
            host(nvidia=_LOST, pci=pci()),
        ],
    ),
    of(
        "LIM010",
        fires=[
            host(nvidia=nvidia(), cpu=_NODES, kernel=_balancing("1")),
            host(nvidia=nvidia(), kernel=_balancing("2")),
        ],
        silent=[
            host(nvidia=nvidia(), cpu=_NODES, kernel=_balancing("0")),
            host(nvidia=nvidia(), cpu=Cpu(numa_nodes=("0-15",)), kernel=_balancing("1")),
            host(nvidia=NO_GPUS, cpu=_NODES, kernel=_balancing("1")),
        ],
        unknown=[host(), host(nvidia=nvidia())],
    ),
    of(
        "LIM016",
        fires=[
            host(limits=limits(nproc_soft=1024), container=Container(uid=1000)),
            host(limits=limits(nproc_soft=4095), container=Container(uid=1000)),
        ],
        silent=[
            host(limits=limits(nproc_soft=None), container=Container(uid=1000)),
            host(limits=limits(nproc_soft=4096), container=Container(uid=1000)),
            host(limits=limits(nproc_soft=1024), container=Container(uid=0)),
            host(limits=limits(nproc_soft=1024), container=Container(uid=1000), local_ranks=2),
        ],
        unknown=[host(), host(limits=limits(nproc_soft=1024))],
    ),
)
