"""From a file to what is kept of it, with what was wrong."""

from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.trace.inspector_calls import InspectorCalls
from nccltool.trace.reader import read
from tests.trace.samples import SHIPPED, event, write


def test_a_real_trace() -> None:
    trace, damage = read(SHIPPED / "ddp-rank2.pt.trace.json", InspectorCalls())
    assert trace is not None
    assert (trace.rank, trace.host, trace.world_size, len(trace.steps), damage) == (2, "vm", 4, 8, "")


def test_cut(tmp_path: Path) -> None:
    text = (SHIPPED / "ddp-rank2.pt.trace.json").read_text()
    file = tmp_path / "rank2.json"
    file.write_text(text[: text.rindex("{") + 9])
    trace, damage = read(file, InspectorCalls())
    assert trace is not None
    assert (trace.ends_early, damage) == (True, "it ends early")


def test_bad_values_are_counted(tmp_path: Path) -> None:
    _, damage = read(write(tmp_path / "rank0.json", event("a", -1, -1), 5), InspectorCalls())
    assert damage == "2 of its values are damaged, too long, or have no valid time"


def test_no_trace(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("hello")
    with pytest.raises(BadInput, match="is not a trace"):
        read(tmp_path / "x.json", InspectorCalls())


@pytest.mark.parametrize(
    "text",
    [
        "# HELP nccl_bus_bandwidth_gbs NCCL bus bandwidth\n# TYPE nccl_bus_bandwidth_gbs gauge\n",
        'nccl_p2p_exec_time_microseconds{version="v5.1",node="n1",p2p_operation="Send"} 464.9\n',
    ],
)
def test_a_file_for_prometheus_has_no_calls(tmp_path: Path, text: str) -> None:
    file = tmp_path / "nccl_inspector_metrics_GPU-1.prom"
    file.write_text(text)
    with pytest.raises(BadInput, match="is a Prometheus file of NCCL Inspector") as refused:
        read(file, InspectorCalls())
    assert "NCCL_INSPECTOR_PROM_DUMP=0" in refused.value.remedy
