"""Whether RAS may be asked: the table of versions that crashed."""

import pytest

from nccltool.attach.ras.danger import RasRisk, permission
from nccltool.core.versions import parse


@pytest.mark.parametrize(
    ("version", "risk", "allowed"),
    [
        ("2.24.3", "when-ranks-are-missing", False),
        ("2.26.5", "when-ranks-are-missing", False),
        ("2.27.3", "when-ranks-are-missing", False),
        ("2.27.7", "when-ranks-are-missing", False),
        ("2.28.9", "when-ranks-are-missing", False),
        ("2.29.2", "while-initializing", True),
        ("2.29.7", "while-initializing", True),
        ("2.30.7", "while-initializing", True),
        ("2.31.1", "none", True),
        ("2.32.3", "none", True),
    ],
)
def test_a_stuck_job_whose_communicators_are_ready(version: str, risk: RasRisk, allowed: bool) -> None:
    found = permission(parse(version), initializing=False, stuck=True)
    assert (found.risk, found.allowed) == (risk, allowed)
    assert bool(found.reason) == (not allowed)
    assert permission(parse(version), initializing=False, stuck=True, opted_in=True).allowed


@pytest.mark.parametrize("version", [None, "2.24.3", "2.29.7", "2.32.3"])
def test_never_while_communicators_initialize(version: str | None) -> None:
    found = permission((version and parse(version)) or None, initializing=True, stuck=True, opted_in=True)
    assert not found.allowed
    assert "initialize" in found.reason


@pytest.mark.parametrize("version", ["2.29.7", "2.32.3"])
def test_not_before_the_job_looks_stuck(version: str) -> None:
    assert not permission(parse(version), initializing=False, stuck=False, opted_in=True).allowed


@pytest.mark.parametrize("version", ["2.27.7", "2.32.3"])
def test_opting_out_wins(version: str) -> None:
    found = permission(parse(version), initializing=False, stuck=True, opted_out=True, opted_in=True)
    assert found.reason == "turned off on the command line"


def test_where_nobody_knows_whether_communicators_initialize() -> None:
    assert not permission(parse("2.29.7"), initializing=None, stuck=True).allowed
    assert permission(parse("2.32.3"), initializing=None, stuck=True).allowed


def test_an_unknown_version_needs_the_option() -> None:
    assert not permission(None, initializing=False, stuck=True).allowed
    assert permission(None, initializing=False, stuck=True, opted_in=True).allowed


def test_before_ras_existed() -> None:
    found = permission(parse("2.21.5"), initializing=False, stuck=True, opted_in=True)
    assert found.reason == "NCCL 2.21.5 has no RAS; 2.24 has"
