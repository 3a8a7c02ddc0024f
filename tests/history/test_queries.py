"""What is read from the file."""

from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.history.queries import by_host, reading
from nccltool.history.records import RunVersions
from tests.history.samples import BUSBW, DAY, FIRST, SLOW, kept, night

HALF = int((FIRST + DAY / 2) * 1000)


def test_since_when_and_whose(tmp_path: Path) -> None:
    file = kept(
        tmp_path,
        night(0, {"n1": "fail", "n2": "fail"}, busbw={"n1": 1e9}),
        night(1, {"n1": "fail", "n2": "pass"}, busbw={"n1": 2e9, "n2": 3e9}, driver="560.35"),
    )
    with reading(file) as reader:
        assert [run.id for run in reader.runs(HALF).values()] == ["run-0001"]
        assert {host: len(visits) for host, visits in reader.visits(0).items()} == {"n1": 2, "n2": 2}
        assert set(reader.visits(0, ["n2"])) == {"n2"}
        assert [(one.host, one.hosts) for one in reader.troubles(0)] == [("n1", 2), ("n2", 2), ("n1", 1)]
        assert [one.hosts for one in reader.troubles(0, host="n2")] == [2]
        assert len(reader.troubles(HALF, check=SLOW)) == 1
        assert reader.troubles(0, host="nobody") == []
        assert reader.first_seen("n1", SLOW) == int(FIRST * 1000)
        assert [seen.driver for seen in reader.versions_until("n1", 2**62)] == ["560.35", "550.54"]
        assert [seen.run.torch for seen in reader.versions_until("", 2**62)] == ["2.9.0", "2.9.0"]
        assert [one.value for one in reader.values(HALF, reader.lines())["n1", BUSBW]] == [2e9]
        assert reader.newest() == int((FIRST + DAY) * 1000)
        assert (reader.checks, reader.operations) == ({SLOW, BUSBW.name}, set())


def test_versions_are_those_of_the_run(tmp_path: Path) -> None:
    versions = RunVersions(nccltool="a", torch="b", backend="c", gpu="d", nics="e")
    with reading(kept(tmp_path, replace(night(0, {"n1": "pass"}), versions=versions))) as reader:
        assert [run.versions for run in reader.runs(0).values()] == [versions]


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="does not exist"), reading(tmp_path / "none"):
        pass
    with pytest.raises(BadInput, match="does not exist"), reading(tmp_path / ("x" * 5000)):
        pass


def test_by_host_and_check(tmp_path: Path) -> None:
    with reading(kept(tmp_path, night(0, {"n1": "fail"}), night(1, {"n1": "fail"}))) as reader:
        assert {key: len(some) for key, some in by_host(reader.troubles(0)).items()} == {("n1", SLOW): 2}
