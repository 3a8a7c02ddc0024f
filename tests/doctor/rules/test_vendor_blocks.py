"""Settings that vendors and sites publish for their own machines: warned of only where an expert objects.

The blocks are in tests/data/published_settings.jsonl, each with its source (repository, file, commit) and the day
on which it was read. Blind cases belong to `scripts/bench settings` alone.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from nccltool.core.findings import SEVERITIES
from nccltool.doctor import judge, rules
from nccltool.hosts.facts import HostFacts
from nccltool.hosts.sources import env

_FILE = Path(__file__).parents[2] / "data/published_settings.jsonl"
_VENDORS = (
    *("GoogleCloudPlatform/", "google/", "AI-Hypercomputer/", "oracle-quickstart/", "aws/", "awslabs/", "Azure/"),
    *(
        "coreweave/",
        "eth-cscs/",
        "argonne-lcf/",
        "olcf/",
        "Lumi-supercomputer/",
        "ROCm/",
        "NVIDIA/",
        "NVIDIA-NeMo/",
    ),
)
BLOCKS = [
    case
    for case in map(json.loads, _FILE.read_text().splitlines())
    if case["part"] == "open" and case["source"].startswith(_VENDORS)
]


@pytest.mark.parametrize("block", BLOCKS, ids=[f"{block['id']} {block['source']}" for block in BLOCKS])
def test_a_vendor_is_not_accused(block: dict[str, Any]) -> None:
    facts = HostFacts(host="n1", env=env.chosen(dict(block["settings"])), env_source="block.env")
    found = judge.judge([judge.host_of(facts)], rules.every()).findings
    right = {one["subject"]: SEVERITIES.index(one["most"]) for one in block["right"]}
    never = SEVERITIES.index("info")
    wrong = [
        f"{one.code} {one.subject.name}: {one.message}"
        for one in found
        if SEVERITIES.index(one.severity) < right.get(one.subject.name, never)
    ]
    assert wrong == []


def test_there_are_blocks_of_every_kind() -> None:
    assert len(BLOCKS) >= 60
    assert [vendor for vendor in _VENDORS[:5] if not any(one["source"].startswith(vendor) for one in BLOCKS)] == []
