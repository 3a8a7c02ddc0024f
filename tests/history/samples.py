"""Nights of a small cluster."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nccltool.history.database import History
from nccltool.history.records import (
    MeasuredValue,
    RunRecord,
    RunVersions,
    Series,
    Trouble,
    Visit,
    VisitStatus,
)

FIRST = datetime(2026, 9, 1, 2, tzinfo=UTC).timestamp()
DAY = 86400.0
BUSBW = Series(name="within/all_reduce-busbw-64MiB", unit="B/s")
SLOW = "across/late-rank"


def night(
    number: int,
    statuses: Mapping[str, VisitStatus],
    *,
    driver: str = "550.54",
    backend: str = "nccl 2.27.3",
    busbw: Mapping[str, float] | None = None,
    **changes: Any,
) -> RunRecord:
    """A preflight; hosts that failed were slow, which was shown."""
    return RunRecord(
        **{
            "id": f"run-{number:04}",
            "started": FIRST + number * DAY,
            "kind": "preflight",
            "status": "fail" if "fail" in statuses.values() else "pass",
            "versions": RunVersions(nccltool="nccltool 0.1.0", torch="2.9.0", backend=backend),
            "visits": tuple(Visit(host=host, status=one, driver=driver) for host, one in statuses.items()),
            "troubles": tuple(
                Trouble(host=host, check=SLOW, status="fail", proven=True, reason="rank 3 was late")
                for host, one in statuses.items()
                if one == "fail"
            ),
            "values": tuple(
                MeasuredValue(host=host, series=BUSBW, value=one) for host, one in (busbw or {}).items()
            ),
            **changes,
        }
    )


def kept(folder: Path, *nights: RunRecord) -> Path:
    """The file of a history that has them."""
    file = folder / "history.sqlite"
    History(file).add(nights)
    return file
