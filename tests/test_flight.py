"""Dumps of torch's flight recorder: which collective, who is missing, who made another call."""

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from nccltool import flight, triaging
from nccltool.errors import BadInput


def entry(place: int, op: str = "gloo:all_reduce", sizes: int = 8, dtype: str = "Float", **more: Any) -> Any:
    known = {
        "collective_seq_id": place,
        "input_dtypes": [dtype],
        "input_sizes": [[sizes]],
        "is_p2p": False,
        "process_group": ["0", "default_pg"],
        "profiling_name": op,
        "retired": True,
        "state": "scheduled",
    }
    return known | more


def waits(place: int, **more: Any) -> Any:
    return entry(place, **({"retired": False} | more))


def write(folder: Path, *ranks: list[Any]) -> list[flight.Dump]:
    for rank, entries in enumerate(ranks):
        document = {
            "entries": entries,
            "pg_config": {"0": {"ranks": "[0, 1, 2]"}},
            "pg_status": {},
            "version": "2.10",
        }
        (folder / f"trace_{rank}.json").write_text(json.dumps(document))
    dumps = [flight.dump(str(folder / f"trace_{rank}.json")) for rank in range(len(ranks))]
    return [one for one in dumps if one]


def found(dumps: list[flight.Dump]) -> list[tuple[str, int | None]]:
    return [(event.kind, event.rank) for event in flight.events(dumps)]


GOOD = [entry(1), entry(2)]


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ((GOOD, GOOD, GOOD), []),
        ((GOOD,), []),
        (([*GOOD, waits(3)], [*GOOD, waits(3)], GOOD), [("torch.behind", 2)]),
        (([*GOOD, entry(3)], GOOD, GOOD), []),
        (
            ([*GOOD, waits(3)], [*GOOD, waits(3, op="nccl:broadcast")], [*GOOD, waits(3)]),
            [("torch.fingerprint", 1)],
        ),
        (([*GOOD, waits(3)], [*GOOD, waits(3)], [*GOOD, waits(3, sizes=9)]), [("torch.fingerprint", 2)]),
        (([*GOOD, waits(3)], [*GOOD, waits(3)], [*GOOD, waits(3, dtype="Half")]), [("torch.fingerprint", 2)]),
        (([entry(1, op="nccl:all_to_all")], [entry(1, op="nccl:all_to_all", sizes=9)]), []),
        (([entry(1, is_p2p=True)], [entry(1, op="x", is_p2p=True)]), []),
        (([entry(1, op="nccl:broadcast"), entry(9)], [entry(9)]), []),
    ],
)
def test_what_the_dumps_of_ranks_show(
    tmp_path: Path, ranks: tuple[list[Any], ...], expected: list[tuple[str, int]]
) -> None:
    assert found(write(tmp_path, *ranks)) == expected


@pytest.mark.parametrize(
    ("ranks", "cause", "rank"),
    [
        (([*GOOD, waits(3)], [*GOOD, waits(3)], GOOD), "straggler-timeout", "2"),
        (
            ([*GOOD, waits(3)], [*GOOD, waits(3, op="nccl:broadcast")], [*GOOD, waits(3)]),
            "collective-mismatch",
            "1",
        ),
    ],
)
def test_they_are_evidence_for_the_judge(
    tmp_path: Path, ranks: tuple[list[Any], ...], cause: str, rank: str
) -> None:
    write(tmp_path, *ranks)
    incident = triaging.triage([str(tmp_path)], ())
    assert incident.root_cause == cause
    assert incident.offender is not None
    assert incident.offender.name == rank
    assert "collective #3" in incident.evidence[0].text


def test_the_stack_is_that_of_the_program(tmp_path: Path) -> None:
    frames = [
        {"name": "all_reduce", "filename": "/x/torch/distributed/c.py", "line": 1},
        {"name": "step\x1b[2J", "filename": "/srv/train.py", "line": 7},
    ]
    (event,) = flight.events(
        write(tmp_path, [entry(1, op="nccl:broadcast", frames=frames)], [entry(1)], [entry(1)])
    )
    assert "called at /srv/train.py:7 in step?[2J" in event.text


def test_pickles_are_read_only_when_trusted_and_hold_no_programs(tmp_path: Path) -> None:
    (dump,) = write(tmp_path, GOOD)
    pickled = tmp_path / "nccl_trace_rank_0"
    pickled.write_bytes(pickle.dumps(json.loads(Path(dump.file).read_text())))
    with pytest.raises(BadInput, match="pickled"):
        flight.dump(str(pickled))
    read = flight.dump(str(pickled), trust_pickle=True)
    assert read is not None
    assert read.groups == dump.groups
    pickled.write_bytes(pickle.dumps({"entries": [], "pg_config": {}, "x": Path("/")}))
    assert flight.dump(str(pickled), trust_pickle=True) is None


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
    assert flight.dump(str(tmp_path / name)) is None
    assert triaging.triage([str(tmp_path)], ()).root_cause == "none"
