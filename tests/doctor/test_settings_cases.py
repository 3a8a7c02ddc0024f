"""The cases that `scripts/bench settings` scores: their form, and that the scorer runs."""

import json
import re
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FILES = {"published_settings.jsonl": 150, "misconfigurations.jsonl": 60}
"""At least so many cases."""
_FIRST_FRESH = {"published_settings.jsonl": "published-246", "misconfigurations.jsonl": "wrong-063"}
SEVERITIES = ("error", "warning", "info", "none")


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (ROOT / "tests/data" / name).read_text().splitlines()]


EVERY = [(name, case) for name in FILES for case in cases(name)]


@pytest.mark.parametrize("name", FILES)
def test_there_are_enough_and_none_twice(name: str) -> None:
    found = cases(name)
    assert len(found) >= FILES[name]
    assert not [one for one, count in Counter(case["id"] for case in found).items() if count > 1]
    blocks = Counter(json.dumps([sorted(case["settings"]), case["source"], case.get("facts")]) for case in found)
    assert max(blocks.values()) == 1


def test_a_third_is_blind_drawn_by_the_hash_of_the_id() -> None:
    for name, case in EVERY:
        if case["part"] == "fresh":
            assert case["id"] >= _FIRST_FRESH[name]
            continue
        blind = int(sha256(case["id"].encode()).hexdigest(), 16) % 3 == 0
        assert case["part"] == ("blind" if blind else "open"), case["id"]


def test_each_has_a_source_that_can_be_opened_again() -> None:
    forms = {
        "published_settings.jsonl": r"[\w.-]+/[\w.-]+:.+@[0-9a-f]{12}",
        "misconfigurations.jsonl": r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+",
    }
    for name, case in EVERY:
        assert re.fullmatch(forms[name], case["source"]), case["id"]


def test_what_is_right_is_about_a_variable_of_the_case_and_tells_why() -> None:
    for name, case in EVERY:
        names = {variable for variable, _ in case["settings"]}
        assert names or case["kind"] == "host", case["id"]
        assert case["right"] or name == "published_settings.jsonl", case["id"]
        for one in case["right"]:
            assert one["subject"] in names or case["kind"] == "host", case["id"]
            assert SEVERITIES.index(one["least"]) >= SEVERITIES.index(one["most"]), case["id"]
            assert one["why"], case["id"]
            assert one["source"], case["id"]


def test_the_scorer_tells_each_part_and_lists_no_blind_case() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--smallest", "settings"],
        env={"PYTHONPATH": f"{ROOT / 'scripts'}:{ROOT}", "PATH": "/usr/bin:/bin"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    head, *parts = done.stdout.splitlines()
    assert (head, [line.split(":")[0] for line in parts[:3]]) == ("== settings", ["open", "blind", "fresh"])
    listed = {line.split(":")[0].strip() for line in parts[3:]}
    assert listed <= {case["id"] for _, case in EVERY if case["part"] != "blind"}
