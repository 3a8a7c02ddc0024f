"""From a fault to somebody's phone: real Prometheus, Alertmanager, push gateway and node_exporter."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.lab import monitoring
from tests.lab.monitoring import LIMIT_S, Stack, query
from tests.support.commands import Command, until

pytestmark = pytest.mark.lab
NCCLTOOL = [sys.executable, "-m", "nccltool"]
PROBE = [*NCCLTOOL, "probe", "--nodes", "2", "--op", "all_reduce", "--sizes", "1KiB", "-n", "5", "-w", "1"]


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    if reason := monitoring.missing():
        pytest.skip(reason)
    with Stack(tmp_path) as parts:
        yield parts


@pytest.fixture(scope="module")
def failed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run directory with a run in which rank 1 received wrong data."""
    folder = tmp_path_factory.mktemp("probe")
    with Command(PROBE, folder, {"NCCLTOOL_FAULT": "corrupt:rank=1"}) as command:
        assert command.wait(LIMIT_S).code == 1
    return folder / "runs"


def nccltool(*words: str) -> None:
    done = subprocess.run([*NCCLTOOL, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.torch
def test_from_a_fault_to_the_alert(stack: Stack, failed_run: Path, tmp_path: Path) -> None:
    textfiles = tmp_path / "textfiles"
    textfiles.mkdir()
    serve_port, push_port, node_port = (
        monitoring.free_port(),
        stack.pushgateway(),
        stack.node_exporter(textfiles),
    )
    nccltool("export", "latest", "--run-dir", str(failed_run), "--textfile", str(textfiles / "nccltool.prom"))
    push = ["--pushgateway", f"http://127.0.0.1:{push_port}", "--group", "instance=alpha"]
    nccltool("export", "latest", "--run-dir", str(failed_run), *push)
    serve = [*NCCLTOOL, "serve", "--listen", f"127.0.0.1:{serve_port}", "--run-dir", str(failed_run)]
    webhook = stack.webhook()
    with Command(serve, tmp_path / "serve") as server:
        targets = {"serve": serve_port, "push": push_port, "node": node_port}
        rules = ROOT / "docs/monitoring/alerts.yml"
        prometheus = stack.prometheus(targets, rules, stack.alertmanager(webhook))
        metric = 'nccltool_wrong_elements_total{op="all_reduce"} > 0'
        arrived = until(lambda: len(query(prometheus, metric)) == len(targets), LIMIT_S)
        assert arrived, (query(prometheus, metric), query(prometheus, "up"))
        assert until(lambda: "NccltoolWrongData" in {a["labels"]["alertname"] for a in webhook.alerts}, LIMIT_S)
        server.send(signal.SIGTERM)
        assert server.wait(LIMIT_S).code == 0
    [alert] = [a for a in webhook.alerts if a["labels"]["alertname"] == "NccltoolWrongData"][:1]
    assert alert["annotations"]["summary"] == "Wrong data in all_reduce"
    page = alert["annotations"]["runbook_url"].rstrip("/").rsplit("/", 1)[1]
    assert (ROOT / f"docs/runbooks/alerts/{page}.md").is_file()
    assert [row["value"][1] for row in query(prometheus, "node_textfile_scrape_error")] in (["0"], [])


@pytest.mark.torch
def test_promtool_finds_nothing_to_say_about_the_metrics_of_a_run(stack: Stack, failed_run: Path) -> None:
    argv = [*NCCLTOOL, "export", "latest", "--run-dir", str(failed_run)]
    text = subprocess.run(argv, capture_output=True, timeout=LIMIT_S, check=True).stdout
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
