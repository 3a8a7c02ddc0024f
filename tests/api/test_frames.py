"""Results as data frames."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from nccltool import api
from nccltool.probe.result import Run

SAMPLES = Path(__file__).parents[1] / "data/documents-0.1.0"


@pytest.mark.parametrize("kind", ["probe", "train", "preflight"])
def test_rows_of_saved_runs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data frame is made of plain rows with the same keys."""
    run = api.load_run(str(SAMPLES / f"{kind}.json"))
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=list))
    rows: list[dict[str, object]] = list(api.to_pandas(run))
    assert rows
    assert len({tuple(row) for row in rows}) == 1
    if kind == "probe":
        assert isinstance(run, Run)
        assert [row["time_s_mean"] for row in rows] == [row.time_s.mean for row in run.measurements]


def test_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(api.BadInput) as raised:
        api.to_pandas(api.load_run(str(SAMPLES / "probe.json")))
    assert raised.value.message == "to_pandas() needs pandas, which is not installed"
