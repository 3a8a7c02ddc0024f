"""How a form ended, from what its processes print: programs in place of ranks."""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from nccltool.launch.rendezvous import trial
from nccltool.launch.rendezvous.trial import RankOrder

ORDER = RankOrder(form="tcp", host="127.0.0.1", port=1, file="/no/such", rank=0, ranks=2, timeout_s=1.0)
FINE = 'import json; print(json.dumps({{"rank": {rank}, "wrong": 0}}))'
WRONG = 'import json; print("log"); print(json.dumps({{"rank": {rank}, "wrong": {rank} * 3}}))'
FAILS = 'import sys; print("torch.DistError: refused\\n[rank1] frame #0", file=sys.stderr); sys.exit({rank})'
HANGS = 'import json, time; print(json.dumps({{"rank": {rank}, "wrong": None}}), flush=True); time.sleep(60)'


@pytest.mark.parametrize(
    ("program", "ok", "problem"),
    [
        (FINE, 2, ""),
        (WRONG, 1, "wrong data on rank 1"),
        (FAILS, 0, "2 of 2 ranks failed: torch.DistError: refused"),
        (HANGS, 0, "2 of 2 ranks did not finish within 1 s"),
    ],
    ids=["fine", "wrong", "fails", "hangs"],
)
def test_how_a_form_ends(
    program: str, ok: int, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def argv(order: RankOrder) -> Sequence[str]:
        return (sys.executable, "-c", program.format(rank=order.rank))

    monkeypatch.setattr(trial, "_argv", argv)
    monkeypatch.setattr("nccltool.launch.rendezvous.obstacles.of_port", lambda _: None)
    ended = trial.tried(ORDER, tmp_path)
    assert (ended.ok, ended.problem, bool(ended.remedy)) == (ok, problem, bool(problem))
    assert ended.goal == "tcp://127.0.0.1:1"


def test_a_file_of_another_run_is_not_touched(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.write_text("init/")
    ended = trial.tried(msgspec.structs.replace(ORDER, form="file", file=str(store)), tmp_path)
    assert ended.problem == f"{store} has data of another run, which torch would read; not tried"
    assert store.read_text() == "init/"
