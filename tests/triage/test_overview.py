"""What logs show of a job: its hosts, and in what they differ."""

from pathlib import Path

from tests.conftest import Nccltool


def test_the_summary_shows_hosts_and_what_differs(tmp_path: Path, nccltool: Nccltool) -> None:
    file = tmp_path / "job.log"
    file.write_text(
        "h1:5:5 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\nh1:5:5 [0] NCCL INFO Using network IB\n"
        "h1:5:5 [0] NCCL INFO NCCL_IB_HCA set by environment to mlx5\n"
        "h2:5:5 [0] NCCL INFO NCCL version 2.27.3+cuda12.9\nh2:5:5 [0] NCCL INFO Using network IB\n"
        "h3:5:5 [0] NCCL INFO NCCL version 2.24.3+cuda12.4\nh3:5:5 [0] NCCL INFO Using network Socket\n"
        "h1:5:5 [0] NCCL INFO comm 0x1 rank 0 nranks 3 cudaDev 0 busId 1 commId 0x9 - Init START\n"
        "h1:5:5 [0] NCCL INFO comm 0x1 rank 0 nranks 3 cudaDev 0 busId 1 commId 0x9 - Init COMPLETE\n"
    )
    said = nccltool("triage", "--summary", str(file))
    assert "NCCL: 2.24.3+cuda12.4 on h3; 2.27.3+cuda12.9 on the other 2" in said.out
    assert "network: Socket on h3; IB on the other 2" in said.out
    assert [line.split() for line in said.out.splitlines() if line.startswith(("h3", "NCCL_IB_HCA", "0x9"))] == [
        ["h3", "2.24.3+cuda12.4", "Socket"],
        ["NCCL_IB_HCA", "mlx5", "h1"],
        ["NCCL_IB_HCA", "(not", "logged)", "h[2-3]"],
        ["0x9", "3", "?", "1", "1"],
    ]
