"""What a refusal says of a file in which no result is found."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Told
from nccltool.interop.importers.nearest import LOOKED_FOR, UNCHANGED


@pytest.mark.parametrize(
    ("text", "near", "remedy"),
    [
        ("\n 8 2 float sum -1 5.1 0.01 0.02 0\n", "a row of nccl-tests, without the heading", UNCHANGED),
        ("\n[1,0]<stdout>: 8 2 float 5.1 0.01 0.02 0\n", "a row of nccl-tests, without the heading", UNCHANGED),
        ("a\n   RDMA_Write BW Test\n", "a title of perftest, without the heading", UNCHANGED),
        ("a\n# Size          Latency (us)\n1  0.5\n", "a heading of OSU, without the title", UNCHANGED),
        ("a\nh:1:2 [0] NCCL INFO Bootstrap\n", "a log of NCCL", "use nccltool triage to find why a job failed"),
        ('{"schema": 1,\n "kind": "doctor"}\n', "a document of nccltool itself", "pass a saved run to"),
        ("a\nIntel(R) MPI Benchmarks 2021\n", "another benchmark, which nccltool does not import", "import one"),
    ],
)
def test_the_nearest_thing(text: str, near: str, remedy: str) -> None:
    with pytest.raises(BadInput) as raised:
        importers.read(text.encode(), "out.txt", Told())
    assert raised.value.message.startswith(f"out.txt: no result of {LOOKED_FOR} found; nearest: {near}")
    assert raised.value.message.endswith(", in line 2")
    assert raised.value.remedy.startswith(remedy)
