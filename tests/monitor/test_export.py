"""Runs and a baseline, as samples."""

from pathlib import Path

import pytest

from nccltool.compare.baselines import Store, usable
from nccltool.core.errors import BadInput
from nccltool.monitor import export
from nccltool.monitor.run_cache import RunCache
from nccltool.train import document as train_document
from tests import samples
from tests.monitor.test_run_cache import DAY_S, NOW, of, put


def test_a_real_baseline(tmp_path: Path) -> None:
    base, store = tmp_path / "runs", tmp_path / "baselines.sqlite"
    times = [samples.stats(mean, median=mean, p90=mean * 1.0005) for mean in (1.0, 1.001, 0.999, 1.0)]
    rows = [samples.measurement(time_s=time, busbw_bytes_per_s=1e9) for time in times]
    folders = [put(base, f"03:0{number}:00", row) for number, row in enumerate(rows)]
    Store(store).save("night", "", [usable(train_document.load(folder)) for folder in folders], "new")
    held = export.against("night", str(store))
    found = export.samples(export.read([str(folders[0])], base), held)
    assert [sample.value for sample in found if sample.metric == "baseline_ratio"] == [
        pytest.approx(1.0, abs=0.01)
    ]
    seen = RunCache(base, DAY_S, held).look(NOW)
    assert list(of(seen, "baseline_ratio").values()) == [pytest.approx(1.0, abs=0.01)]
    with pytest.raises(BadInput, match="unknown baseline 'day'"):
        export.against("day", str(store))
