"""A series of runs as table, JSON, and CSV."""

import json
from dataclasses import replace

from nccltool.compare import scaling
from nccltool.compare.scaling_series import ScalingSeries, SeriesMember, headline, render
from nccltool.core.verdicts import Verdict
from tests import samples
from tests.compare.test_scaling import probed, trained

_RUNS = [trained(1, 4, 0.1), trained(2, 8, 0.125), trained(2, 4, 0.1)]


def _series(**changes: object) -> ScalingSeries:
    members = tuple(
        SeriesMember(
            run=run.info.id,
            folder=f"/runs/{run.info.id}",
            ranks=run.info.world_size or 0,
            nodes=1,
            status="pass",
            exit_code=0,
        )
        for run in _RUNS
    )
    series = ScalingSeries(
        command="train",
        verdict=Verdict(status="pass", exit_code=0),
        members=members,
        asked=3,
        curves=scaling.curves(_RUNS),
    )
    return replace(series, **changes)  # type: ignore[arg-type]


def test_the_table_says_how_efficient_and_where_the_time_goes() -> None:
    text = render(_series(), "table")
    assert text.startswith(
        "PASS train: weak scaling 80 % from 1 to 2 ranks; strong scaling 50 % from 1 to 2 ranks\n"
    )
    rows = [line.split() for line in text.split("\n") if line.lstrip().startswith("2 ")]
    assert rows[0] == ["2", "64", "125", "ms", "75", "ms", "31.2", "ms", "18.8", "ms", "80%", "69%", "to", "92%"]
    assert "other: what ranks" in text


def test_a_failed_run_is_named_with_its_culprit() -> None:
    bad = SeriesMember(
        run="bad",
        folder="/runs/bad",
        ranks=4,
        nodes=2,
        status="incomplete",
        exit_code=3,
        findings=(samples.finding(),),
    )
    failed = Verdict(status="incomplete", exit_code=3)
    text = render(_series(members=(*_series().members, bad), asked=4, verdict=failed), "table")
    assert text.startswith("INCOMPLETE train: ")
    assert "1 of 4 runs did not pass" in text
    assert "4 ranks on 2 nodes (bad): incomplete" in text
    assert samples.finding().headline in text


def test_an_interrupted_series_says_how_far_it_came() -> None:
    assert headline(_series(asked=5)).startswith("train: interrupted after 3 of 5 runs; ")
    assert "no scaling known" in headline(_series(curves=()))


def test_json_and_csv_have_every_point() -> None:
    document = json.loads(render(_series(), "json"))
    assert (document["kind"], document["status"], len(document["runs"])) == ("scaling", "pass", 3)
    assert [one["kind"] for one in document["curves"]] == ["weak", "strong"]
    lines = render(_series(), "csv").splitlines()
    assert lines[0].startswith("of,detail,kind,bytes,base,run,ranks,")
    assert len(lines) == 5


def test_of_many_sizes_the_smallest_and_the_largest_are_shown() -> None:
    runs = [
        replace(run, measurements=tuple(replace(run.measurements[0], bytes=size) for size in (1024, 4096, 2**20)))
        for run in (probed(2, 1e9), probed(4, 2e9))
    ]
    text = render(_series(command="probe", curves=scaling.curves(runs)), "table")
    assert "all_reduce 1 KiB" in text
    assert "all_reduce 4 KiB" not in text
    assert "bandwidth 200 % from 2 to 4 ranks, lowest for all_reduce 1 KiB" in text
