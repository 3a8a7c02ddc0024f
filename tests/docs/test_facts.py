"""The page of `nccltool facts` has a row for every key of a snapshot."""

import re
from pathlib import Path

import msgspec

from nccltool.hosts.facts import HostFacts

PAGE = Path(__file__).parents[2] / "docs/commands/facts.md"


def test_every_key_has_its_row() -> None:
    section = PAGE.read_text().partition("## Snapshots\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert rows == [field.name for field in msgspec.structs.fields(HostFacts)]
