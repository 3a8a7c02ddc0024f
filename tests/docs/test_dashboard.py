"""docs/monitoring/dashboard.json through Grafana's own types, which drop every key that Grafana does not know."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.docs.pages import ROOT

pytest.importorskip("grafana_foundation_sdk")
DASHBOARD = json.loads((ROOT / "docs/monitoring/dashboard.json").read_text())


def read_by_grafana(dashboard: dict[str, Any]) -> Any:
    """What its types keep of it, written again."""
    from grafana_foundation_sdk.cog import plugins
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models.dashboard import Dashboard

    plugins.register_default_plugins()
    return json.loads(JSONEncoder().encode(Dashboard.from_json(dashboard)))


def lost(ours: Any, kept: Any, path: str = "$") -> Iterator[str]:
    """Where a value of ours is another or missing; what is empty says nothing."""
    if isinstance(ours, dict):
        for key, value in ours.items():
            yield from lost(value, kept.get(key) if isinstance(kept, dict) else None, f"{path}.{key}")
    elif isinstance(ours, list):
        for index, value in enumerate(ours):
            there = isinstance(kept, list) and index < len(kept)
            yield from lost(value, kept[index] if there else None, f"{path}[{index}]")
    elif ours != kept and ours not in (None, ""):
        yield path


def test_grafana_knows_every_key_and_value() -> None:
    kept = read_by_grafana(DASHBOARD)
    assert list(lost(DASHBOARD, kept)) == []
    assert [panel["type"] for panel in kept["panels"]] == [panel["type"] for panel in DASHBOARD["panels"]]


@pytest.mark.parametrize(
    "path",
    [
        ("panelz",),
        ("panels", 0, "titel"),
        ("panels", 0, "options", "colourMode"),
        ("panels", 3, "fieldConfig", "defaults", "units"),
        ("panels", 3, "targets", 0, "expression"),
        ("templating", "list", 1, "multiple"),
    ],
)
def test_a_key_that_there_is_not_is_found(path: tuple[Any, ...]) -> None:
    wrong = json.loads(json.dumps(DASHBOARD))
    inner = wrong
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = "x"
    [found] = lost(wrong, read_by_grafana(wrong))
    assert found.endswith(f".{path[-1]}")
