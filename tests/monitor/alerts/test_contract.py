"""What every alert must have; docs/monitoring and docs/runbooks/alerts are made of them (UPDATE_GOLDEN=1)."""

import inspect
import json
import os
import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from nccltool.cli import help_pages
from nccltool.monitor import alerts, job_metrics, metrics
from nccltool.monitor.alerts import SECTIONS, Alert
from tests.docs.pages import ROOT

FOLDER = ROOT / "docs/monitoring"
PAGES = ROOT / "docs/runbooks/alerts"
HEAD = "# Alerts on nccltool results. Generated from nccltool/monitor/alerts; alerts_test.yml tests them.\n"
RUNBOOKS = "https://nccltool.readthedocs.io/en/latest/runbooks/alerts"
"""Where the pages are, for people who only see the alert."""
METRICS = {metrics.PREFIX + metric.name: metric for metric in (*metrics.METRICS, *job_metrics.METRICS)}


def hold(file: Path, text: str) -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert file.read_text() == text


def found(name: str) -> Alert:
    alert = alerts.find(name)
    assert alert is not None
    return alert


@pytest.mark.parametrize("name", alerts.NAMES)
def test_an_alert_asks_for_metrics_and_labels_that_there_are(name: str) -> None:
    alert = found(name)
    asked = set(re.findall(r"nccltool_\w+", alert.expr))
    assert asked
    assert asked <= set(METRICS)
    selected = set(re.findall(r"[{,]\s*(\w+)=", alert.expr))
    templates = set(re.findall(r"\$labels\.(\w+)", alert.summary + alert.description))
    known = {label for metric in asked for label in METRICS[metric].labels} | {"instance", "job"}
    assert selected | templates <= known
    assert alert.source


@pytest.mark.parametrize("name", alerts.NAMES)
def test_its_page_has_all_sections(name: str) -> None:
    page = alerts.page(name)
    assert page is not None
    assert tuple(re.findall(r"^## (.*)$", page, re.MULTILINE)) == SECTIONS
    verify = page.partition("## Verify\n")[2].partition("## ")[0]
    assert "xpected" in verify or "#" in verify
    assert "Blast radius" in " ".join(page.partition("## Fix\n")[2].partition("## ")[0].split())
    assert "nccltool bundle" in page.partition("## Escalate\n")[2]
    module = import_module(
        f"nccltool.monitor.alerts.{re.sub(r'(?<!^)(?=[A-Z])', '_', name.removeprefix('Nccltool')).lower()}"
    )
    assert (inspect.getdoc(module) or "").splitlines()[0].endswith(".")
    hold(PAGES / f"{name}.md", page)


def test_the_check_that_an_alert_names_has_a_page_as_it_is_written_there() -> None:
    assert help_pages.find("doctor/LIM001") == help_pages.find("LIM001")


def test_nothing_else_is_there() -> None:
    assert {file.stem for file in PAGES.glob("*.md")} == set(alerts.NAMES)


def test_the_rule_file_is_made_of_them() -> None:
    rules = {"groups": [{"name": "nccltool", "rules": [rule(name) for name in alerts.NAMES]}]}
    hold(FOLDER / "alerts.yml", HEAD + yaml.safe_dump(rules, sort_keys=False, width=110, allow_unicode=True))


def test_the_operator_gets_the_same_rules() -> None:
    rules = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "nccltool", "labels": {"app.kubernetes.io/name": "nccltool-serve"}},
        "spec": yaml.safe_load((FOLDER / "alerts.yml").read_text()),
    }
    text = yaml.safe_dump(rules, sort_keys=False, width=110, allow_unicode=True)
    hold(FOLDER / "kubernetes/operator/prometheusrule.yaml", HEAD + text)


def rule(name: str) -> dict[str, Any]:
    alert = found(name)
    return {
        "alert": name,
        "expr": alert.expr,
        "for": alert.hold,
        "labels": {"severity": alert.severity},
        "annotations": {
            "summary": alert.summary,
            "description": alert.description,
            "runbook_url": f"{RUNBOOKS}/{name}/",
        },
    }


def test_the_table_of_metrics() -> None:
    lines = ["| metric | type | labels | meaning |", "|---|---|---|---|"]
    lines += [
        f"| `{metrics.PREFIX}{metric.name}` | {metric.kind} | {', '.join(metric.labels)} | {metric.help} |"
        for metric in metrics.METRICS
    ]
    head = "# Metrics\n\nGenerated from nccltool/monitor/metrics.py. Unknown values have no sample.\n\n"
    hold(FOLDER / "metrics.md", head + "\n".join(lines) + "\n")


def test_every_alert_has_a_test_that_fires_and_one_that_does_not() -> None:
    plan = yaml.safe_load((FOLDER / "alerts_test.yml").read_text())
    asked = [rule for test in plan["tests"] for rule in test["alert_rule_test"]]
    fires = {rule["alertname"] for rule in asked if rule.get("exp_alerts")}
    silent = {rule["alertname"] for rule in asked if not rule.get("exp_alerts")}
    assert fires == silent == set(alerts.NAMES)


@pytest.mark.lab
@pytest.mark.parametrize(
    "argv",
    [
        *(["check", "rules", "alerts.yml"], ["test", "rules", "alerts_test.yml"]),
        ["check", "config", "prometheus.yml"],
    ],
    ids=" ".join,
)
def test_promtool_agrees(argv: list[str]) -> None:
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (scripts/install-debian)")
    done = subprocess.run([promtool, *argv], cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


def test_amtool_agrees() -> None:
    amtool = shutil.which("amtool")
    if amtool is None:
        pytest.skip("amtool is not installed (scripts/install-debian)")
    argv = [amtool, "check-config", "alertmanager.yml"]
    done = subprocess.run(argv, cwd=FOLDER, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dashboard_asks_for_metrics_that_there_are(tmp_path: Path) -> None:
    dashboard = json.loads((FOLDER / "dashboard.json").read_text())
    targets = [target for panel in dashboard["panels"] for target in panel["targets"]]
    asked = [target["expr"].replace("$op", ".*") for target in targets]
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    assert {name for expr in asked for name in re.findall(r"nccltool_\w+", expr)} <= set(METRICS)
    shown = {label for target in targets for label in re.findall(r"{{(\w+)}}", target["legendFormat"])}
    assert shown <= {label for metric in metrics.METRICS for label in metric.labels}
    rules = [{"record": f"panel:{index}", "expr": expr} for index, expr in enumerate(asked)]
    (tmp_path / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not installed (scripts/install-debian)")
    done = subprocess.run(
        [promtool, "check", "rules", "rules.yml"], cwd=tmp_path, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", ["nightly.service", "nightly.timer", "serve.service"])
def test_units_are_as_systemd_wants_them(name: str) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not there")
    unit = FOLDER / f"systemd/nccltool-{name}"
    done = subprocess.run([analyze, "verify", unit], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
