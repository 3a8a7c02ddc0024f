"""How much memory is left: the host's, or what a cgroup leaves of it."""

from pathlib import Path

import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts import free_memory
from nccltool.hosts.sources.base import Tree

GIB = 2**30
MEMINFO = "MemTotal: 33554432 kB\nMemFree: 1048576 kB\nMemAvailable: 16777216 kB\n"
V2 = {
    "proc/meminfo": MEMINFO,
    "proc/self/cgroup": "0::/slurm/job_7\n",
    "sys/fs/cgroup/cgroup.controllers": "memory cpu\n",
    "sys/fs/cgroup/slurm/memory.max": "max\n",
    "sys/fs/cgroup/slurm/memory.current": f"{9 * GIB}\n",
}
OF_JOB = "sys/fs/cgroup/slurm/job_7"
V1 = {
    "proc/meminfo": MEMINFO,
    "proc/self/cgroup": "9:cpu,cpuacct:/docker/a\n4:memory:/docker/a\n",
    "sys/fs/cgroup/memory/docker/a/memory.stat": f"cache 5\ntotal_inactive_file {GIB}\n",
    "sys/fs/cgroup/memory/docker/a/memory.usage_in_bytes": f"{3 * GIB}\n",
}


def tree(folder: Path, files: dict[str, str]) -> Tree:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return Tree.at(folder)


@pytest.mark.parametrize(
    ("files", "left"),
    [
        ({"proc/meminfo": MEMINFO}, 16 * GIB),
        (V2, 16 * GIB),
        (V2 | {f"{OF_JOB}/memory.max": f"{4 * GIB}", f"{OF_JOB}/memory.current": f"{GIB}"}, 3 * GIB),
        (
            V2
            | {
                f"{OF_JOB}/memory.max": f"{4 * GIB}",
                f"{OF_JOB}/memory.current": f"{3 * GIB}",
                f"{OF_JOB}/memory.stat": f"anon {GIB}\ninactive_file {2 * GIB}\n",
            },
            3 * GIB,
        ),
        (V2 | {f"{OF_JOB}/memory.max": f"{GIB}", f"{OF_JOB}/memory.current": f"{2 * GIB}"}, 0),
        (V2 | {f"{OF_JOB}/memory.max": f"{99 * GIB}", f"{OF_JOB}/memory.current": "0"}, 16 * GIB),
        (V1 | {"sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes": f"{8 * GIB}"}, 6 * GIB),
        (V1 | {"sys/fs/cgroup/memory/docker/a/memory.limit_in_bytes": "9223372036854771712"}, 16 * GIB),
    ],
    ids=["no cgroup", "no limit", "limit", "cache", "over its limit", "limit over the host's", "v1", "v1 none"],
)
def test_what_is_left(tmp_path: Path, files: dict[str, str], left: int) -> None:
    assert free_memory.of_host(tree(tmp_path, files)) == left


def test_without_meminfo_it_is_not_known(tmp_path: Path) -> None:
    assert isinstance(free_memory.of_host(tree(tmp_path, {})), Unknown)
