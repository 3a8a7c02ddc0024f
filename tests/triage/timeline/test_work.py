"""What a process was at work with while others waited."""

import pytest

from nccltool.triage.timeline import work
from tests.triage.test_judge import timeline_of

WAITED = (
    "[rank5]: [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, "
    "NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.\n"
)
HALF = "Grouping texts:  11%|# | 1104000/9672101 [09:52<1:17:31, 1842.01 examples/s]\n"
WHOLE = "Grouping texts: 100%|##| 9672101/9672101 [09:52<00:00, 1842.01 examples/s]\n"
STEP = "step 12 loss: 2.1\n"


@pytest.mark.parametrize(
    ("log", "busy"),
    [
        (HALF + WAITED, True),
        (HALF + WAITED + HALF, True),
        (STEP + WAITED + "Model weights saved in /srv/model-00004.safetensors\n", True),
        (HALF + WHOLE + WAITED, False),
        (HALF + STEP + WAITED, False),
        (HALF + WAITED + STEP, False),
        ("step 12: rank 0 reads shards from /mnt ... 41%\n" + WAITED, True),
        ("rank 0: copied 247.9 of 302.6 GiB\n" + WAITED, True),
        ("rank 0: copied 302.6 of 302.6 GiB\n" + WAITED, False),
        (HALF, False),
    ],
)
def test_work_counts_where_it_goes_on_beside_a_wait(log: str, busy: bool) -> None:
    assert (work.beside_wait(timeline_of(log)) is not None) == busy
