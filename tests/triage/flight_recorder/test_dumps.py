"""What is a dump, and what one says of its calls."""

import json
import math
import os
import pickle
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.triage import flight_recorder, run
from tests.triage.flight_recorder.samples import GOOD, entry, write


def test_the_stack_is_that_of_the_program(tmp_path: Path) -> None:
    frames = [
        {"name": "all_reduce", "filename": "/x/torch/distributed/c.py", "line": 1},
        {"name": "step\x1b[2J", "filename": "/srv/train.py", "line": 7},
    ]
    (event,) = flight_recorder.events(
        write(tmp_path, [entry(1, op="nccl:broadcast", frames=frames)], [entry(1)], [entry(1)])
    )
    assert "called at /srv/train.py:7 in step?[2J" in event.text


def test_pickles_are_read_only_when_trusted_and_hold_no_programs(tmp_path: Path) -> None:
    (dump,) = write(tmp_path, GOOD)
    pickled = tmp_path / "nccl_trace_rank_0"
    pickled.write_bytes(pickle.dumps(json.loads(Path(dump.file).read_text())))
    with pytest.raises(BadInput, match="pickled"):
        flight_recorder.dump(str(pickled))
    read = flight_recorder.dump(str(pickled), trust_pickle=True)
    assert read is not None
    assert read.groups == dump.groups
    pickled.write_bytes(pickle.dumps({"entries": [], "pg_config": {}, "x": Path("/")}))
    assert flight_recorder.dump(str(pickled), trust_pickle=True) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("trace_0.json", "{}"),
        ("trace_0.json", '{"entries": 5, "pg_config": {}}'),
        ("trace_0.json", '{"entries": [{"is_p2p": false}], "pg_config": {}}'),
        ("trace_0.json", '{"entries": [], "pg_config": {}'),
        ("trace.json", '{"entries": [], "pg_config": {}}'),
        ("rank0", "step 5\n"),
    ],
)
def test_what_is_no_dump_is_read_as_a_log(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert flight_recorder.dump(str(tmp_path / name)) is None
    assert run.triage([str(tmp_path)], ()).root_cause == "none"


def _shared(levels: int) -> list[object]:
    one: list[object] = [1]
    for _ in range(levels):
        one = [one, one]
    return one


@pytest.mark.parametrize(
    "pickled",
    [
        pickle.dumps({"entries": [entry(1, input_sizes=_shared(28))], "pg_config": {}}),
        pickle.dumps({"entries": [entry(1, record_id=math.inf)], "pg_config": {}}),
        b"\x80\x02]r\xff\xff\xff\x7fX\x07\x00\x00\x00entries.",
        b"\x80\x02X\x07\x00\x00\x00entriesX\xff\xff\xff\x7f",
        pickle.dumps({"entries": [], "pg_config": {}})[:-3],
    ],
    ids=["2**28 leaves", "an infinite number", "object 2147483647", "a text without an end", "cut"],
)
def test_a_pickle_that_would_take_all_memory_or_is_damaged_is_no_dump(pickled: bytes, tmp_path: Path) -> None:
    (tmp_path / "rank_0").write_bytes(pickled)
    assert flight_recorder.dump(str(tmp_path / "rank_0"), trust_pickle=True) is None


def test_a_pipe_is_left_to_who_reads_it_as_a_log(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rank_0")
    assert flight_recorder.dump(str(tmp_path / "rank_0")) is None
