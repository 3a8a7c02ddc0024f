"""nccltool probe, from the events of a run to what the user sees, keeps and gets as exit code."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from nccltool.core.findings import Finding
from nccltool.launch import events
from nccltool.launch.events import Event
from nccltool.probe import views
from nccltool.probe.events import Result, Samples
from nccltool.probe.result import Run
from nccltool.train import document as train_document
from tests.cli.conftest import Act
from tests.conftest import Nccltool
from tests.samples import facts, finding

WORLD = events.World(
    world_size=2, emulated=True, backend="gloo", backend_version="2.13.0", backend_reason="no GPU", steps=2
)
HELLO = [events.Hello(facts=facts(rank, node_rank=rank, host="alpha", gpu=None)) for rank in (0, 1)]


def measured(
    step: int, op: str = "all_reduce", size: int = 1024, ms: Sequence[int] = (2,), **changes: Any
) -> list[Event]:
    """A step from its beginning to its result."""
    fields: dict[str, Any] = {
        "count": size // 4,
        "bytes": size,
        "bytes_per_rank": size,
        "dtype": "float32",
        "reduce_op": "sum",
        "placement": "in-place",
        "cadence": "stream",
        "noisy": False,
        "wrong": 0,
    }
    return [
        events.Enter(rank=0, step=step, op=op, bytes=size),
        events.Enter(rank=1, step=step, op=op, bytes=size),
        Samples(step=step, ns=tuple(one * 1_000_000 for one in ms)),
        Result(step=step, op=op, **{**fields, **changes}),
    ]


GOOD: list[Event] = [*HELLO, WORLD, *measured(0), *measured(1, size=2**20, ms=(1, 2, 3))]
LAUNCHER = "launcher: local (no --hosts, no scheduler detected)"
STEPS = (
    "[1/2] all_reduce         1 KiB      2 ms  busbw 0.000512 GB/s  wrong 0\n"
    "[2/2] all_reduce         1 MiB      2 ms  busbw    0.524 GB/s  wrong 0\n"
)
COMMAND = ("probe", "--nodes", "2", "--op", "all_reduce", "--sizes", "1K,1M")


def the_run(tmp_path: Path) -> tuple[Path, Run]:
    """The only run that was kept, and what its document holds."""
    (folder,) = (tmp_path / "state/nccltool/runs").iterdir()
    return folder, train_document.from_json((folder / "run.json").read_bytes(), "run.json")


def test_a_good_run_is_shown_and_kept(tmp_path: Path, act: Act, nccltool: Nccltool) -> None:
    act(GOOD)
    said = nccltool(*COMMAND)
    folder, run = the_run(tmp_path)
    assert (said.code, said.err) == (0, f"{LAUNCHER}\n{STEPS}saved to {folder}\n")
    assert said.out == views.renderer("table")(run)
    assert [(row.op, row.bytes, row.iterations) for row in run.measurements] == [
        ("all_reduce", 1024, 1),
        ("all_reduce", 2**20, 3),
    ]
    assert (run.verdict.status, run.findings) == ("pass", ())


@pytest.mark.parametrize("form", views.FORMATS)
def test_formats(form: str, tmp_path: Path, act: Act, nccltool: Nccltool) -> None:
    act(GOOD)
    said = nccltool(*COMMAND, "--format", form, "-q")
    _, run = the_run(tmp_path)
    assert (said.code, said.out, said.err) == (0, views.renderer(form)(run), "")


def test_into_a_file(tmp_path: Path, act: Act, nccltool: Nccltool) -> None:
    act(GOOD)
    said = nccltool(*COMMAND, "--format", "json", "--output", str(tmp_path / "out.json"))
    assert (said.code, said.out) == (0, "")
    assert json.loads((tmp_path / "out.json").read_text())["exit_code"] == 0


DIED = finding()


@pytest.mark.parametrize(
    ("stream", "findings", "interrupted", "words", "code", "status", "kept"),
    [
        (GOOD, [], False, ["--min-busbw", "0.1"], 0, "pass", []),
        (GOOD, [], False, ["--min-busbw", "1"], 1, "fail", ["busbw-low"]),
        (GOOD[:7], [DIED], False, [], 3, "incomplete", ["rank-died"]),
        ([], [DIED], False, [], 3, "incomplete", ["rank-died"]),
        ([*HELLO, WORLD], [], False, [], 4, "unknown", []),
        (GOOD[:7], [], True, [], 130, "incomplete", []),
    ],
)
def test_exit_codes(
    stream: Sequence[Event],
    findings: list[Finding],
    interrupted: bool,
    words: list[str],
    code: int,
    status: str,
    kept: list[str],
    tmp_path: Path,
    act: Act,
    nccltool: Nccltool,
) -> None:
    act(stream, findings, interrupted)
    said = nccltool(*COMMAND, *words, "--format", "json")
    shown = json.loads(said.out)
    _, run = the_run(tmp_path)
    assert (said.code, shown["exit_code"], shown["status"]) == (code, code, status)
    assert [one.code for one in run.findings] == kept
    assert len(run.measurements) == sum(isinstance(event, Result) for event in stream)
