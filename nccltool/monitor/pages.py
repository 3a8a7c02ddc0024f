"""Rules of Prometheus and the table of metrics, as the files of docs/monitoring."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

HEAD = (
    "# Alerts on what nccltool measured; made of nccltool/alerts, tested by alerts_test.yml. Any copy is yours.\n"
)


def rules(groups: Mapping[str, Any]) -> str:
    """A rule file."""
    return HEAD + yaml.safe_dump(dict(groups), sort_keys=False, width=110, allow_unicode=True)


def table(rows: Sequence[tuple[str, str, str, str]]) -> str:
    """The table of metrics: name, type, labels, help."""
    lines = ["| metric | type | labels | meaning |", "|---|---|---|---|"]
    lines += [f"| `{name}` | {kind} | {labels} | {text} |" for name, kind, labels, text in rows]
    return "\n".join(lines) + "\n"
