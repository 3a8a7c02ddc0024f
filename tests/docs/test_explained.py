"""Whatever is printed has a page: explain knows each code, check, column, key and word that commands show."""

import json
import re
from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from typing import get_args

import pytest

from nccltool.cli import help_pages
from nccltool.compare import result as compare_result
from nccltool.compare.views import comparison
from nccltool.core import findings, verdicts
from nccltool.core.errors import BadInput
from nccltool.doctor import rules
from nccltool.hosts import differences
from nccltool.monitor import alerts, metrics
from nccltool.preflight import probe_run, stage_run, stages, suite_reader
from nccltool.preflight import result as preflight_result
from nccltool.preflight.suite import METRICS
from nccltool.probe import collectives
from nccltool.probe.views import table
from nccltool.train import strategies
from nccltool.triage import causes
from tests.docs.examples import examples
from tests.docs.pages import PAGES, ROOT
from tests.probe.views.test_table import SMALL, sweep
from tests.support import finding_kinds

_RULE = re.compile(r" *-{2,}( +-{2,})+ *")


def _codes() -> Iterator[str]:
    yield from (kind.code for kind in finding_kinds.every_kind())
    yield from (*differences.KINDS, *causes.LABELS, *alerts.NAMES)
    for rule in rules.every():
        yield from (rule.code, rule.name, f"doctor/{rule.code}")
    yield from (f"{metrics.PREFIX}{metric.name}" for metric in metrics.METRICS)


def _checks() -> Iterator[str]:
    """Those that stages declare, those that suites and platforms expect, and findings and trainings as checks."""
    modules = [import_module(f"{stages.__name__}.{name}") for name in stages.NAMES]
    for module in (*modules, probe_run, stage_run):
        declared = [one for one in vars(module).values() if isinstance(one, preflight_result.Check)]
        yield from (
            str(one) if one.stage else f"{stage}/{one.what}" for one in declared for stage in ("within", "across")
        )
    for suite in (suite_reader.read(file) for file in suite_reader.files() if file.parent.name != "platforms"):
        for stage, part in suite.parts.items():
            yield from (f"{stage}/{one.check().what}" for one in getattr(part, "expect", ()))
    yield from (f"across/{op}-{metric}-64MiB" for op in collectives.NAMES for metric in METRICS)
    yield from (f"train/{strategy}" for strategy in strategies.NAMES)
    yield from (f"{stage}/rank-died" for stage in ("within", "across", "train"))
    yield from (f"doctor/{code}" for code in differences.KINDS)
    yield from stages.NAMES


def _statuses() -> Iterator[str]:
    for words in (
        *(findings.CheckStatus, findings.Severity, verdicts.Status),
        *(preflight_result.HostStatus, preflight_result.Blame, compare_result.Comparable),
    ):
        yield from filter(None, get_args(words))


def _columns() -> Iterator[str]:
    """Headers of every table in an example of the pages, and in a golden file."""
    printed = [step.printed for page in PAGES for example in examples(page) for step in example.steps]
    printed += [file.read_text() for file in (ROOT / "tests/golden").glob("*.table")]
    printed += [table.render(sweep(count), SMALL) for count in (2, 10)]
    for text in printed:
        lines = ["", *text.splitlines()]
        for above, line, rule in zip(lines, lines[1:], lines[2:], strict=False):
            if _RULE.fullmatch(rule):
                yield from filter(None, _headers(above, line, rule))
    yield from comparison.CSV_COLUMNS


def _headers(above: str, line: str, rule: str) -> Iterator[str]:
    """Those of a table, whose headers may have two lines: `time` above `us`."""
    spans = [one.span() for one in re.finditer("-+", rule)]
    gaps = [above[end:begin] for (_, end), (begin, _) in pairwise([(0, 0), *spans])]
    has_two = not any(gap.strip() for gap in gaps)
    for span in spans:
        yield " ".join(f"{above[slice(*span)] if has_two else ''} {line[slice(*span)]}".split())


_NAMED_BY_DATA = {"arguments"}
"""Objects whose keys are data."""


def _keys(value: object) -> Iterator[str]:
    match value:
        case dict():
            for key, inner in value.items():
                yield key
                yield from _keys(inner) if key not in _NAMED_BY_DATA else ()
        case list():
            for inner in value:
                yield from _keys(inner)


def _json_keys() -> Iterator[str]:
    """Those of the documents in golden files."""
    for file in (ROOT / "tests/golden").glob("run*.json"):
        if "nccl-tests" not in file.name:
            yield from _keys(json.loads(file.read_text()))


def _words() -> Iterator[str]:
    yield from ("0", "1", "2", "3", "4", "130", "exit-codes", "exit code 3")
    yield from (*collectives.NAMES, *strategies.WORDS)
    yield from (file.stem for file in suite_reader.files())
    glossary = (ROOT / "docs/glossary.md").read_text()
    for row in re.findall(r"^\| ([^|]+) \| [^|]+ \|$", glossary, re.MULTILINE):
        yield from (word.strip() for word in row.split(",") if word != "word")


PRINTED = {
    "codes": _codes,
    "checks": _checks,
    "statuses": _statuses,
    "columns": _columns,
    "keys of JSON": _json_keys,
    "words": _words,
}


@pytest.mark.parametrize("kind", PRINTED)
def test_everything_that_is_printed_has_a_page(kind: str) -> None:
    words = sorted(set(PRINTED[kind]()))
    assert len(words) > 10
    assert [word for word in words if not _is_known(word)] == []


def _is_known(word: str) -> bool:
    try:
        return len(help_pages.find(word).splitlines()) > 1
    except BadInput:
        return False


def test_every_page_that_is_named_in_the_output_is_there() -> None:
    """The commands that examples and golden files show."""
    named = set()
    for file in (*PAGES, *(ROOT / "tests/golden").glob("*.table")):
        named |= set(re.findall(r"^    nccltool explain (\S+)$", file.read_text(), re.MULTILINE))
    assert len(named) > 8
    assert [word for word in sorted(named) if not _is_known(word)] == []
