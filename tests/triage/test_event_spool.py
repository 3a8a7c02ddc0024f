"""Events are kept by log."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.triage import event_spool
from nccltool.triage.event_spool import EventSpool
from nccltool.triage.logs.base import LogEvent


def event(file: str, line: int) -> LogEvent:
    return LogEvent(kind="nccl.network", role="state", text="x" * 50, file=file, line=line, fields={"name": "IB"})


@pytest.mark.parametrize("room", [1 << 20, 100], ids=["memory", "disk"])
def test_each_log_has_its_events_again(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_spool, "IN_MEMORY_BYTES", room)
    events = [event(file, line) for file in ("a", "b", "c") for line in range(3)]
    with EventSpool() as spool:
        spool.add(events)
        assert list(spool.of("b")) == events[3:6]
        assert list(spool.of("a")) == events[:3]
        assert list(spool.of("d")) == []


def test_no_room_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, line: bytes) -> None:
            raise OSError(28, "No space left on device")

    with EventSpool() as spool:
        monkeypatch.setattr(spool, "_kept", Full())
        with pytest.raises(BadInput, match="has no room for what the logs say: No space left") as raised:
            spool.add([event("a", 1)])
        monkeypatch.undo()
    assert "TMPDIR" in raised.value.remedy
