"""What is printed, counted, and run while a job is watched."""

from pathlib import Path

import pytest

from nccltool.attach.options import AttachOptions
from nccltool.attach.watch.run import WatchRun
from nccltool.cli import watching
from tests.attach.watch.fakes import FakeLooker
from tests.attach.watch.test_loop import GOOD, HANGS
from tests.conftest import Nccltool


class _Looker(FakeLooker):
    def __init__(self, options: AttachOptions) -> None:
        super().__init__([GOOD, HANGS])

    def end(self) -> None:
        pass


def test_a_hang_ends_it_and_its_command_runs(
    nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(watching, "HostsLooker", _Looker)
    monkeypatch.setattr(WatchRun, "__post_init__", _without_waiting, raising=False)
    metrics = tmp_path / "job.prom"
    more = (
        "--until-hung",
        "--then",
        "sh -c 'exit 3'",
        "--metrics",
        str(metrics),
        "--save",
        str(tmp_path / "saved"),
    )
    done = nccltool("attach", "--watch", "5s", *more)
    assert done.code == 1
    assert done.out.startswith("FAIL attach: hung for at least 60 s: rank 1 is busy elsewhere")
    healthy, alert, then = done.err.splitlines()
    assert healthy.endswith("healthy: the ranks move")
    assert " alert: hung for at least 60 s" in alert
    assert then.endswith("exited with code 3")
    assert 'nccltool_job_state{state="hung"} 1.0' in metrics.read_text()
    assert list((tmp_path / "saved").rglob("look.json"))


def _without_waiting(run: WatchRun) -> None:
    run.wait = lambda seconds: None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--then", "true"), "--then has no meaning without --until-hung"),
        (("--watch", "1s"), "--watch 1s: expected 5 s to 1 h"),
        (("--watch", "30s", "--metrics", "x"), "--metrics 'x' is neither HOST:PORT nor a .prom file"),
    ],
)
def test_refused(nccltool: Nccltool, words: tuple[str, ...], message: str) -> None:
    done = nccltool("attach", *words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
