"""A second reader, written apart, finds the same rows; and the list of published files that it was tried on."""

import json
import re
import sys
from pathlib import Path

import pytest

from nccltool.interop.importers import Report
from tests.interop.importers import samples

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "scripts"))
from benchmarks import strict_table  # noqa: E402

TEXTS = [name for name in samples.READ if name.endswith(".txt")]


def printed(tests: tuple[Report, ...]) -> list[tuple[float, ...]]:
    rows = [row for test in tests for row in test.rows]
    return [
        (row.bytes, half.time.value, half.algbw.value, half.busbw.value) for row in rows for half in row.halves
    ]


@pytest.mark.parametrize("name", TEXTS)
def test_both_readers_find_the_same_rows(name: str) -> None:
    found = strict_table.halves(samples.data(name).decode())
    wanted = [(half.bytes, float(half.time), float(half.algbw), float(half.busbw)) for half in found]
    ours = printed(samples.read(name))
    if not wanted:
        pytest.skip("it has columns that the second reader does not know")
    assert sorted(ours) == sorted(wanted)


def test_the_lists_have_no_repository_in_common() -> None:
    names = ("published_results.jsonl", "fresh_results.jsonl")
    old, fresh = (
        {json.loads(line)["repository"] for line in (ROOT / "tests/data" / name).read_text().splitlines()}
        for name in names
    )
    assert not old & fresh


def test_the_list_names_each_file_once_and_exactly() -> None:
    lines = (ROOT / "tests/data/published_results.jsonl").read_text().splitlines()
    files = [json.loads(line) for line in lines]
    assert len(files) >= 300
    assert len({file["blob"] for file in files}) == len(files)
    assert all(re.fullmatch(r"[0-9a-f]{40}", file[name]) for file in files for name in ("commit", "blob"))
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+", file["repository"]) for file in files)
