"""A finding shows its place, and what would undo it."""

import pytest

from nccltool.doctor import report
from nccltool.hosts.nccl.settings import Variable

HCA = Variable(name="NCCL_IB_HCA", value="mlx5_0,mlx5\x1b", origin="/etc/nccl.conf:2")
LINE = "/etc/nccl.conf:2: NCCL_IB_HCA=mlx5_0,mlx5\\x1b"


@pytest.mark.parametrize(
    ("part", "carets"),
    [("mlx5_0", "\n" + " " * 30 + "^" * 6), ("mlx5\x1b", "\n" + " " * 37 + "^" * 8), ("mlx6", ""), ("", "")],
)
def test_the_part_that_is_wrong_is_underlined(part: str, carets: str) -> None:
    assert report.pointed(HCA, part) == LINE + carets


def test_without_other_words_the_fix_is_the_remedy() -> None:
    assert report.better_unset(HCA, "m").remedy == "unset NCCL_IB_HCA"
    assert report.better_set(HCA, "mlx5", "m").remedy == "export NCCL_IB_HCA=mlx5"
    found = report.better_set(HCA, "mlx5", "m", "ask", part="mlx5_0", evidence=("more",), severity="info")
    assert (found.remedy, found.severity, found.evidence[1:]) == ("ask", "info", ("more",))
    assert found.fix == (report.Fix(name="NCCL_IB_HCA", value="mlx5"),)
