"""What commands do, called by a program: results and errors, and nothing on the screen."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nccltool import api
from tests.history.samples import kept, night


def test_the_doctor_on_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.env"
    file.write_text("NCCL_BUFFSIZE=4M\n")
    found = api.doctor(env_files=[str(file)], select=["SYN"])
    assert (found.verdict.exit_code, found.findings[0].code) == (1, "SYN012")
    assert found.info.command == ("nccltool.api.doctor",)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"nodes": 1}, "1 node cannot form a pair"),
        ({"nodes": 3, "op": "broadcast"}, "op must be one of all_reduce, send_recv"),
        ({"nodes": 3, "groups": 17}, "groups must be a whole number of at least 2 and at most 16"),
        ({"nodes": 3, "within": 1}, "within must be True or False"),
        ({"nodes": 3, "size": "much"}, "size: 'much' is not a size"),
        ({"nodes": 3, "size": "1KiB,2KiB"}, "size must be one word"),
        ({"nodes": 3, "expect": "fast"}, "expect"),
    ],
)
def test_pairs_that_cannot_be_measured(words: dict[str, Any], message: str) -> None:
    with pytest.raises(api.BadInput) as raised:
        api.pairs(**words)
    assert raised.value.message.startswith(message)


@pytest.mark.slow
@pytest.mark.torch
def test_pairs_are_measured_saved_and_framed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = api.pairs(nodes=3, size="64KiB", pair_time_s=0.05, rounds=3, launcher="local", run_dir=tmp_path)
    assert run.kind == "pairs"
    assert len({name for one in run.encounters for name in one.members}) == 3
    again = api.load_run("latest", run_dir=tmp_path)
    assert isinstance(again, type(run))
    assert again.encounters == run.encounters
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    assert len(api.to_pandas(run)) == len(run.encounters)


def test_triage_of_a_log(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(
        "n1:1:1 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 33030532 bytes\n"
    )
    assert api.triage(str(file)).worst.root_cause == "shm-size"
    with pytest.raises(api.BadInput):
        api.triage()


def test_the_history_of_all_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCLTOOL_HISTORY", str(tmp_path / "history.sqlite"))
    with pytest.raises(api.NccltoolError, match=r"history\.sqlite"):
        api.history()
    kept(tmp_path, night(1, {"n1": "pass"}))
    assert [one.host for one in api.history(since="2026-08-01").hosts] == ["n1"]


def test_saved_runs_are_where_the_variable_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCCLTOOL_RUN_DIR", str(tmp_path / "of-the-variable"))
    with pytest.raises(api.NccltoolError, match="of-the-variable"):
        api.load_run("latest")
    with pytest.raises(api.NccltoolError, match="of-the-argument"):
        api.load_run("latest", run_dir=tmp_path / "of-the-argument")
