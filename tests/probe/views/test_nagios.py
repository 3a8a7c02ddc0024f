"""Several runs for a monitor: it shows the first line, and reads the figures of that line."""

from dataclasses import replace

from nccltool.core.verdicts import Verdict
from nccltool.probe import views
from tests.samples import good_run


def test_the_worst_run_is_first_and_only_it_has_figures() -> None:
    good = good_run()
    bad = replace(good, verdict=Verdict(status="fail", exit_code=1))
    unsure = replace(good, verdict=Verdict(status="unknown", exit_code=4))
    lines = views.joined([good, unsure, bad], "nagios").splitlines()
    assert [line.split(" - ")[0] for line in lines] == ["NCCLTOOL CRITICAL", "NCCLTOOL UNKNOWN", "NCCLTOOL OK"]
    assert ["|" in line for line in lines] == [True, False, False]
