"""Files of NCCL Inspector."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.attach.look import inspector
from nccltool.attach.seen.ranks import RankFound
from nccltool.hosts.sources.base import Tree
from tests.trace.inspected import sent

_RANK = RankFound(
    host="n1",
    pid=7,
    inner_pids=(7, 3),
    rank=0,
    started_at_s=100,
    settings=(("NCCL_INSPECTOR_ENABLE", "1"), ("NCCL_INSPECTOR_DUMP_DIR", "/dumps")),
)


def _record(communicator: str, number: int) -> str:
    return json.dumps(
        {
            "header": {"id": communicator, "rank": 1, "n_ranks": 8, "nnodes": 1},
            "metadata": {"inspector_output_format_version": "v4.0", "hostname": "n1", "pid": 3},
            "coll_perf": {
                "coll": "AllReduce",
                "coll_sn": number,
                "coll_msg_size_bytes": 1048576,
                "coll_exec_time_us": 9,
            },
        }
    )


def test_the_last_operation_of_each_communicator(tmp_path: Path) -> None:
    path = tmp_path / "proc/7/root/dumps/n1-pid3.log"
    path.parent.mkdir(parents=True)
    lines = [
        _record("0xa", 1),
        _record("0xb", 9),
        "{",
        _record("0xa", 2),
        json.dumps(sent(8, 90, peer=1)),
        '{"header": {}}',
        _record("0xa", 3)[:40],
    ]
    path.write_text("\n".join(lines))
    found = inspector.found([_RANK], Tree.at(tmp_path))
    assert [(one.communicator, one.operation, one.number) for one in found] == [
        ("0xa", "AllReduce", 2),
        ("0xb", "AllReduce", 9),
    ]
    os.utime(path, (50, 50))
    assert inspector.found([_RANK], Tree.at(tmp_path)) == ()  # of an earlier process


def test_a_marker_tells_the_communicator_of_the_records_behind_it(tmp_path: Path) -> None:
    """As format v4.3 has it."""
    path = tmp_path / "proc/7/root/dumps/n1-pid3.log"
    path.parent.mkdir(parents=True)
    marker = json.loads(_record("0xc", 0)) | {"dump_stats": {"coll_records": 1}}
    call = {"coll_perf": marker.pop("coll_perf") | {"coll_sn": 4}}
    path.write_text(f"{json.dumps(marker)}\n{json.dumps(call)}\n")
    (found,) = inspector.found([_RANK], Tree.at(tmp_path))
    assert (found.communicator, found.number) == ("0xc", 4)


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        ({"NCCL_INSPECTOR_ENABLE": "1", "SLURM_JOB_ID": "5"}, "/proc/7/cwd/nccl-inspector-5/n1-pid3.log"),
        ({"NCCL_INSPECTOR_ENABLE": "1"}, "/proc/7/cwd/nccl-inspector-unknown-jobid/n1-pid3.log"),
        ({"NCCL_INSPECTOR_ENABLE": "0"}, ""),
        ({}, ""),
    ],
)
def test_names(settings: dict[str, str], path: str) -> None:
    assert inspector.file_of(replace(_RANK, settings=tuple(settings.items()))) == path
