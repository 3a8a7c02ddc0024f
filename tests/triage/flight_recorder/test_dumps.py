"""What is a dump, and what one says of its calls."""

import json
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
