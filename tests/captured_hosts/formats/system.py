"""/sys without its buses: firmware, processors, memory, control groups."""

from tests.captured_hosts.formats.tree import TreeWriter
from tests.captured_hosts.kinds import Kind


def write(tree: TreeWriter, kind: Kind) -> None:
    for name, text in kind.dmi.items():
        tree.write(f"/sys/class/dmi/id/{name}", f"{text}\n")
    tree.write("/sys/devices/system/cpu/online", f"0-{kind.cores - 1}\n")
    size = kind.cores // kind.nodes
    for node in range(kind.nodes):
        tree.write(f"/sys/devices/system/node/node{node}/cpulist", f"{node * size}-{(node + 1) * size - 1}\n")
    tree.write("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "performance\n")
    tree.write("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n")
    tree.write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    if "nvidia_peermem" in kind.modules:
        tree.write("/sys/kernel/mm/memory_peers/nv_mem/version", "1.0\n")
    tree.write("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory pids\n")
    group = "/sys/fs/cgroup" + kind.cgroup.partition("::")[2].rstrip("/")
    texts = {
        "pids.max": "max",
        "pids.current": "12",
        "memory.max": "max",
        "cpu.max": "max 100000",
        "memory.events": "low 0\noom 0\noom_kill 0",
        "cpuset.cpus.effective": f"0-{kind.cores - 1}",
    }
    for name, text in texts.items():
        tree.write(f"{group}/{name}", f"{text}\n")
