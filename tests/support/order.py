"""A plugin of pytest for scripts/test: what fails fastest runs first, whatever the folders are called."""

import pytest

LATER = ("torch", "gpu", "lab", "install", "slow")
"""Markers, from the quicker ones to those that take longest; a test without any of them comes first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_place)  # stable: within a place, the order of the files


def _place(item: pytest.Item) -> int:
    return max((LATER.index(mark.name) + 1 for mark in item.iter_markers() if mark.name in LATER), default=0)
