"""The catalogue of variables: it is whole."""

import re

from nccltool.hosts.nccl import variables

ENTRIES = variables.every().values()


def test_it_is_whole() -> None:
    assert len(ENTRIES) == 755
    assert [entry.name for entry in ENTRIES if not re.fullmatch(r"[A-Za-z0-9_]+", entry.name)] == []
    assert [entry.name for entry in ENTRIES if not entry.summary] == []
    assert [entry.name for entry in ENTRIES if not entry.source] == []


def test_releases_are_versions() -> None:
    assert [entry.name for entry in ENTRIES if entry.since and entry.since_version is None] == []
    assert [entry.name for entry in ENTRIES if entry.removed and entry.removed_version is None] == []
    assert [
        entry.name
        for entry in ENTRIES
        if entry.status == "removed" and entry.component == "nccl" and not entry.removed
    ] == []
    for entry in ENTRIES:
        if entry.since_version and entry.removed_version:
            assert entry.since_version < entry.removed_version, entry.name


def test_ranges_hold_together() -> None:
    assert [entry.name for entry in ENTRIES if None not in (entry.min, entry.max) and entry.min >= entry.max] == []  # type: ignore[operator]
    assert {(entry.min, entry.max) for entry in ENTRIES if entry.type == "switch" and entry.min is not None} == {
        (0, 1)
    }


def test_what_to_use_instead_is_known() -> None:
    names = variables.every()
    one_word = [entry.instead for entry in ENTRIES if entry.instead and re.fullmatch(r"[A-Z0-9_]+", entry.instead)]
    assert [name for name in one_word if name not in names] == []
