"""Control groups of both versions."""

from pathlib import Path

import pytest

from nccltool.attach.look import cgroup
from nccltool.attach.seen.process import CgroupState
from nccltool.hosts.sources.base import Tree


def _tree(root: Path, groups: str, files: dict[str, str]) -> Tree:
    for name, text in {
        "proc/40/cgroup": groups,
        **{f"sys/fs/cgroup/{name}": text for name, text in files.items()},
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return Tree(str(root))


_SECOND = {
    "job/step/cgroup.events": "populated 1\nfrozen 0\n",
    "job/cgroup.events": "populated 1\nfrozen 1\n",
    "job/step/cpu.stat": "usage_usec 5\nnr_throttled 7\nthrottled_usec 2000000\n",
    "job/memory.events": "oom 1\noom_kill 2\n",
    "job/step/memory.events": "oom 0\noom_kill 0\n",
    "job/step/memory.current": "1000\n",
    "job/step/memory.max": "max\n",
    "job/memory.max": "4000\n",
    "job/step/cpu.pressure": "some avg10=12.50 avg60=1.00 avg300=0.00 total=9\nfull avg10=0.00 total=0\n",
}
_FIRST = {
    "freezer/job/freezer.state": "FROZEN\n",
    "cpu/job/cpu.stat": "nr_periods 9\nnr_throttled 3\nthrottled_time 1500000000\n",
    "memory/job/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n",
    "memory/job/memory.usage_in_bytes": "10\n",
    "memory/job/memory.limit_in_bytes": "9223372036854771712\n",
}


@pytest.mark.parametrize(
    ("groups", "files", "expected"),
    [
        pytest.param(
            "0::/job/step\n",
            _SECOND,
            CgroupState(
                path="/job/step",
                version=2,
                frozen=True,
                throttled=7,
                throttled_s=2.0,
                oom_kills=2,
                memory_bytes=1000,
                memory_limit_bytes=4000,
                cpu_pressure=0.125,
            ),
            id="version 2, frozen a level above",
        ),
        pytest.param(
            "5:freezer:/job\n4:cpu,cpuacct:/job\n3:memory:/job\n0::/\n",
            _FIRST,
            CgroupState(
                path="/job", version=1, frozen=True, throttled=3, throttled_s=1.5, oom_kills=1, memory_bytes=10
            ),
            id="version 1",
        ),
        pytest.param("0::/job\n", {}, None, id="a group that is not seen here"),
        pytest.param("", {}, None, id="none"),
    ],
)
def test_groups(tmp_path: Path, groups: str, files: dict[str, str], expected: CgroupState | None) -> None:
    assert cgroup.state(40, _tree(tmp_path, groups, files)) == expected


def test_a_host_with_both_versions_is_frozen_by_the_second(tmp_path: Path) -> None:
    files = {
        "freezer/job/freezer.state": "THAWED\n",
        "unified/cgroup.controllers": "",
        "unified/job/cgroup.events": "populated 1\nfrozen 1\n",
    }
    seen = cgroup.state(40, _tree(tmp_path, "6:freezer:/job\n0::/job\n", files))
    assert seen is not None
    assert (seen.frozen, seen.version) == (True, 2)
