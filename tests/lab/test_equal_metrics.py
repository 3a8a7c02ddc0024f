"""The same series and values in a text file, nccltool serve, node_exporter, the push gateway and Prometheus."""

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from nccltool.compare.baselines import Store, usable
from nccltool.core.findings import CheckStatus
from nccltool.core.run_directory import RunDir
from nccltool.monitor import export, metrics
from nccltool.preflight import document
from nccltool.train import document as train_document
from tests import samples
from tests.docs.pages import ROOT
from tests.lab import monitoring
from tests.lab.monitoring import LIMIT_S, Stack, get, query
from tests.monitor.test_metrics import ALPHA, BETA, CHECK, GAMMA, group_row, preflight, training
from tests.monitor.test_run_cache import put
from tests.support.commands import Command, until

pytestmark = pytest.mark.lab
NCCLTOOL = [sys.executable, "-m", "nccltool"]
CLUSTER = {"cluster": "eu-1"}
OF_THE_SERVER = ("nccltool_damaged_runs", "nccltool_run_directory_readable")
"""0 and 1, where all is well."""
TOLD_BY_COMMAND = {metrics.PREFIX + metric.name for metric in metrics.METRICS if "command" in metric.labels}
CHECKS: tuple[tuple[str | None, CheckStatus], ...] = (
    *(("alpha", "pass"), ("beta", "fail"), ("gamma", "unknown"), ("delta", "skip")),
    (None, "warn"),
)

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


@dataclass(frozen=True, slots=True)
class Place:
    """Where somebody reads metrics: what is there, by series."""

    file: Series
    served: Series
    collected: Series
    pushed: Series
    prometheus: int
    """Its port; it scrapes the last three, as jobs serve, node and nccltool."""
    expected: Series


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    if reason := monitoring.missing():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("metrics")
    run, store = a_run_that_has_all(folder)
    textfiles = folder / "textfiles"
    textfiles.mkdir()
    words = ["--run-dir", str(run.parent), "--baseline", "night", "--store", str(store), "--cluster", "eu-1"]
    with Stack(folder) as stack:
        push, node, serve = stack.pushgateway(), stack.node_exporter(textfiles), monitoring.free_port()
        file = textfiles / "nccltool.prom"
        ways = ["--textfile", str(file), "--pushgateway", f"http://127.0.0.1:{push}"]
        subprocess.run([*NCCLTOOL, "export", run.name, *ways, *words], timeout=LIMIT_S, check=True)
        argv = [*NCCLTOOL, "serve", "--listen", f"127.0.0.1:{serve}", "--max-age", "1e9", *words]
        with Command(argv, folder / "serve") as server:
            targets = {"serve": serve, "node": node, "push": push}
            config = "{{job_name: {}, honor_labels: true, static_configs: [{{targets: ['127.0.0.1:{}']}}]}}"
            prometheus = stack.scraper(config.format(*target) for target in targets.items())
            assert until(lambda: len(query(prometheus, "nccltool_build_info")) == len(targets), LIMIT_S)
            yield Place(
                file=read(file.read_text()),
                served=read(get(serve, "/metrics")),
                collected=read(get(node, "/metrics")),
                pushed=read(get(push, "/metrics")),
                prometheus=prometheus,
                expected=taken(run, store),
            )
            server.send(signal.SIGTERM)
            assert server.wait(LIMIT_S).code == 0


def a_run_that_has_all(folder: Path) -> tuple[Path, Path]:
    """A preflight with a value for each metric that a run can have, and a store with its baseline."""
    base, store = folder / "runs", folder / "baselines.sqlite"
    means = (1.0, 1.001, 0.999, 1.0)
    times = [samples.stats(mean, median=mean, p90=mean * 1.0005) for mean in means]
    rows = [samples.measurement(time_s=time, busbw_bytes_per_s=1e9) for time in times]
    nights = [put(folder / "nights", f"03:0{number}:00", row) for number, row in enumerate(rows)]
    Store(store).save("night", "", [usable(train_document.load(night)) for night in nights], "new")
    changes: dict[str, Any] = {"late_s": 0.001, "late_rank": 1, "limit_busbw_bytes_per_s": 2.5e9, "wrong": 3}
    more = [
        samples.measurement(op="all_gather", time_s=samples.stats(1 / 3, p99=0.7, median=None), **changes),
        samples.measurement(bytes=8, placement="out-of-place", time_s=samples.stats(1e-7, p90=None, median=None)),
        group_row("node 1", 2**20, 3e9),
    ]
    checks = [replace(CHECK, host=host, status=status) for host, status in CHECKS]
    suite = replace(
        preflight(ALPHA, BETA, GAMMA, outcomes=tuple(checks)),
        measurements=(rows[0], *more),
        trainings=(training(),),
    )
    kept = RunDir(base, suite.info.id, b"{}")
    kept.finish(document.to_json(suite))
    kept.close()
    return kept.path, store


def taken(run: Path, store: Path) -> Series:
    """What the run says, without any exposition."""
    found = export.samples(export.read([str(run)], run.parent), export.against("night", str(store)))
    labels = {name: metric.labels for name, metric in metrics.BY_NAME.items()}
    named = [(one, dict(zip(labels[one.metric], one.labels, strict=True))) for one in found]
    return {series(metrics.PREFIX + one.metric, CLUSTER | words): one.value for one, words in named}


def series(name: str, labels: dict[str, str]) -> tuple[str, frozenset[tuple[str, str]]]:
    """To Prometheus an empty label is none; job and instance are the scraper's, `command` may be the group's."""
    others = {"job", "instance"} | (set() if name in TOLD_BY_COMMAND else {"command"})
    return name, frozenset((key, value) for key, value in labels.items() if value and key not in others)


def read(text: str) -> Series:
    """Every series whose name begins as ours do."""
    found = {
        series(one.name, one.labels): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if one.name.startswith(metrics.PREFIX)
    }
    count = sum(line.startswith(metrics.PREFIX) for line in text.splitlines())
    assert len(found) == count  # none hides another
    return found


def asked(port: int, job: str) -> Series:
    rows = query(port, f'{{__name__=~"nccltool_.*",job="{job}"}}')
    return {series(row["metric"].pop("__name__"), row["metric"]): float(row["value"][1]) for row in rows}


def test_every_series_is_the_same_everywhere(place: Place) -> None:
    expected = place.expected
    assert {name for name, _ in expected} | {*OF_THE_SERVER} == {
        metrics.PREFIX + one.name for one in metrics.METRICS
    }
    assert place.file == expected
    assert place.collected == expected
    assert place.pushed == expected
    own = {series(name, CLUSTER): float(number) for number, name in enumerate(OF_THE_SERVER)}
    served = expected | own
    assert place.served == served
    assert asked(place.prometheus, "node") == expected
    assert asked(place.prometheus, "nccltool") == expected
    assert asked(place.prometheus, "serve") == served


def test_every_query_of_the_dashboard_returns_data(place: Place) -> None:
    dashboard = json.loads((ROOT / "docs/monitoring/dashboard.json").read_text())
    chosen = query(place.prometheus, "count by (op) (nccltool_bus_bandwidth_bytes_per_second)")
    operations = "|".join(sorted(row["metric"]["op"] for row in chosen))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$op", operations)
            assert query(place.prometheus, expression), (panel["title"], expression)
            shown = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
            assert any(shown <= set(row["metric"]) for row in query(place.prometheus, expression)), expression
