"""Each defect is shown by the log of its report, and by no log of a release without it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from nccltool.triage import causes, run
from nccltool.triage.causes.base import HINT
from nccltool.triage.defects import catalog
from nccltool.triage.defects.base import HANG, Defect, Driver, Nodes, Over, RankCount, release
from nccltool.triage.judge import judge
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder
from nccltool.triage.timeline.model import Timeline

_LOGS = Path(__file__).parents[2] / "data" / "defects.txt"


class Report(NamedTuple):
    """The lines of a report, shortened, with the defect and the root cause that they show."""

    name: str
    cause: str
    log: str


def _reports() -> Iterator[Report]:
    for block in re.split(r"(?m)^=== ", _LOGS.read_text())[1:]:
        head, _, log = block.partition("\n")
        name, cause, _ = (word.strip() for word in head.split("|"))
        yield Report(name, cause, log)


REPORTS = [report for report in _reports() if any(report.name == defect.name for defect in catalog.DEFECTS)]
BY_NAME = {defect.name: defect for defect in catalog.DEFECTS}


def timeline(log: str) -> Timeline:
    reader, builder = LogReader(), TimelineBuilder()
    for event in reader.read("a.log", [log.encode()]):
        builder.add(event)
    return builder.timeline(reader.lines_read)


def names(log: str) -> list[str]:
    return [one.defect.name for one in catalog.shown(timeline(log))]


def test_names_are_different() -> None:
    assert len(BY_NAME) == len(catalog.DEFECTS)
    assert len(catalog.DEFECTS) >= 130


@pytest.mark.parametrize("defect", catalog.DEFECTS, ids=lambda defect: defect.name)
def test_a_defect_is_told_completely(defect: Defect) -> None:
    before = defect.span.before
    assert not before or release(defect.span.since) < release(before)
    assert defect.url.startswith("https://")
    assert {defect.cause, *defect.looks_like} <= set(causes.LABELS)
    assert defect.symptoms
    assert 0 < defect.strength <= 0.9
    assert before or defect.instead
    assert not defect.what.endswith(".")


@pytest.mark.parametrize("defect", catalog.DEFECTS, ids=lambda defect: defect.name)
def test_a_hang_of_any_job_on_such_hosts_is_only_a_hint(defect: Defect) -> None:
    """Most hangs have another cause: what accuses a release is a line, a setting, or a feature of its report."""
    of_hosts = all(isinstance(need, Over | RankCount | Nodes | Driver) for need in defect.needs)
    if defect.symptoms == (HANG,) and of_hosts:
        assert defect.strength == HINT


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_the_log_of_a_report_shows_its_defect(report: Report) -> None:
    assert report.name in names(report.log)


NOT_ALONE = {
    "regression-of-2.29.2": "straggler-timeout",
    "graphs-over-the-network": "straggler-timeout",
    "ll-cleanup": "other",
    "silent-stall-on-arm": "other",
    "no-fin": "other",
    "protocols-differ": "other",
    "two-h100": "other",
    "ll-fence-of-gfx950": "other",
    "p2p-of-driver-560": "other",
    "dmabuf-on-old-ofed": "gdr-missing",
    "collective-mismatch-of-sendrecv": "collective-mismatch",
}
"""Defects whose reports have no line of their own: a hint beside the cause that the lines name."""


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_the_cause_of_a_report_is_found(report: Report) -> None:
    found = judge(timeline(report.log))
    assert found.root_cause == NOT_ALONE.get(report.name, report.cause)
    if report.name not in NOT_ALONE and report.cause == "nccl-bug" and BY_NAME[report.name].span.library == "NCCL":
        assert found.offender


_VERSION = re.compile(r"(NCCL version |nccl==)(\d+\.\d+\.\d+)")
OF_NCCL = [one for one in REPORTS if BY_NAME[one.name].span.library == "NCCL" and BY_NAME[one.name].span.before]


@pytest.mark.parametrize("report", OF_NCCL, ids=lambda report: report.name)
def test_a_release_without_the_defect_is_not_accused(report: Report) -> None:
    fixed = _VERSION.sub(rf"\g<1>{BY_NAME[report.name].span.before}", report.log).replace("(2, 28, 3)", "")
    assert report.name not in names(fixed)


@pytest.mark.parametrize("version", sorted({defect.span.since for defect in catalog.DEFECTS}))
def test_a_release_alone_is_no_symptom(version: str) -> None:
    healthy = f"n1:1:1 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\nNCCL version {version}\nstep 1 loss 2.0\n"
    assert names(healthy) == []
    assert judge(timeline(healthy)).root_cause == "none"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        (
            "uds-socket-in-use",
            "install NCCL 2.20.5 or newer; or work around it: NCCL_CUMEM_ENABLE=0 "
            "(https://github.com/NVIDIA/nccl/issues/1185)",
        ),
        (
            "shm-size-zero",
            "work around it: NCCL_CUMEM_HOST_ENABLE=0 (https://github.com/NVIDIA/nccl/issues/2190)",
        ),
        ("proxy-destroyed-twice", "install NCCL 2.4.6 or newer (https://github.com/NVIDIA/nccl/issues/191)"),
    ],
)
def test_the_remedy_is_the_release_or_the_setting(name: str, remedy: str) -> None:
    log = next(report.log for report in REPORTS if report.name == name)
    assert catalog.remedy(timeline(log), "nccl-bug") == remedy
    assert catalog.remedy(timeline(log), "plugin") == ""


def test_releases_are_told_by_library() -> None:
    log = "RCCL version 2.27.7-HEAD:1c2aa10\ntorch 2.7.0+cu128\nDriver Version: 560.35.03\nNVSHMEM v3.5.19\n"
    assert catalog.releases_of(timeline(log)) == {
        "NCCL": frozenset(),
        "RCCL": frozenset({(2, 27, 7)}),
        "torch": frozenset({(2, 7, 0)}),
        "driver": frozenset({(560, 35, 3)}),
        "NVSHMEM": frozenset({(3, 5, 19)}),
    }


def test_the_library_of_a_pair_is_what_to_change() -> None:
    log = next(report.log for report in REPORTS if report.name == "libfabric-of-efa")
    found = judge(timeline(log)).offender
    assert found
    assert (found.kind, found.name) == ("library", "libfabric")


def test_a_defect_without_proof_is_a_hint_where_no_cause_is_known() -> None:
    log = "NCCL version 2.29.2+cuda13.0\nNCCL INFO NET/IB : Using [0]mlx5_0:1/IB\n(hangs)\n"
    told = run.incident(timeline(log), ())
    assert told.root_cause == "other"
    assert "known defect: NCCL 2.29.2 has a regression" in told.findings[0].remedy
    assert "install NCCL 2.29.3 or newer" in told.findings[0].remedy
    assert catalog.hint(timeline(log.replace("2.29.2", "2.29.3"))) == ""
