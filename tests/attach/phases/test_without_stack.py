"""What /proc says of a rank without a stack."""

import pytest

from nccltool.attach.phases.without_stack import phase_without_stack
from nccltool.attach.seen.process import ProcessState


@pytest.mark.parametrize(
    ("path", "call", "state", "cpu", "kind", "text"),
    [
        ("/data/a", "0", "D", 0.0, "loading", "reads /data/a"),
        ("/data/a", "63", "S", None, "loading", "reads /data/a"),
        ("/ckpt/a", "74", "D", 0.0, "checkpoint", "writes /ckpt/a"),
        ("pipe:[7]", "0", "S", 0.0, "unknown", "sleeps (no stack)"),
        ("/dev/null", "1", "S", 0.0, "unknown", "sleeps (no stack)"),
        ("", "202", "S", 0.01, "unknown", "sleeps (no stack)"),
        ("", "", "R", 0.97, "unknown", "uses a core (no stack)"),
        ("", "", "S", None, "unknown", "unknown"),
    ],
)
def test_phases(path: str, call: str, state: str, cpu: float | None, kind: str, text: str) -> None:
    process = ProcessState(pid=1, name="python", state=state, parent=0, waits_on=path, syscall=call)
    phase = phase_without_stack(process, cpu)
    assert (phase.kind, phase.text) == (kind, text)
    assert phase.reason
