"""What a command that starts ranks shows while they run, and where no result is to be shown."""

import io
import re
from pathlib import Path

import pytest

from nccltool.launch import events
from nccltool.probe import plan
from nccltool.probe.job import Sizes
from nccltool.probe.memory import Room
from tests.cli.conftest import Act
from tests.cli.test_probe import COMMAND, DIED, GOOD, HELLO, measured
from tests.conftest import Nccltool
from tests.samples import job


def test_rows_as_they_come(act: Act, nccltool: Nccltool) -> None:
    act([*GOOD[:7], *measured(1, op="ping_pong", size=8, ms=(4,), wrong=None)])
    said = nccltool(*COMMAND, "-v")
    assert said.err.splitlines()[1:-1] == [
        "all_reduce          1 KiB      2 ms busbw 0.000512 GB/s  wrong 0",
        "ping_pong             8 B      2 ms busbw 4.00e-06 GB/s  wrong -",
    ]


def test_what_is_left_out_is_said_before_the_first_row(act: Act, nccltool: Nccltool) -> None:
    room = Room(free=10**9, backend=0, rank=1, host="beta", of_gpu=True, sharers=1)
    large = job(ops=("all_reduce",), sizes=Sizes(listed=(2**33,)))
    left_out = plan.too_large(large, "nccl", 2, room)
    act([*GOOD[:2], *(events.Reported(finding=one) for one in left_out), *GOOD[2:]])
    said = nccltool(*COMMAND, "-v").err.splitlines()[1:3]
    assert said == [
        "all_reduce at 8 GiB was left out: it needs 9.1 GB, rank 1 on beta has 1.0 GB of its GPU free",
        "all_reduce          1 KiB      2 ms busbw 0.000512 GB/s  wrong 0",
    ]


def test_no_progress_line_where_no_terminal_is(act: Act, nccltool: Nccltool) -> None:
    act(GOOD)
    assert "\r" not in nccltool(*COMMAND).err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("words", "shown"), [((), True), (("-q",), False)])
def test_progress_on_a_terminal(
    words: tuple[str, ...], shown: bool, act: Act, nccltool: Nccltool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nccltool.cli.screen._REFRESH_S", -1.0)
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    act(GOOD)
    nccltool(*COMMAND, *words)
    lines = [re.sub(r", \S+ \S+$| \S+ u?m?s$", "", line) for line in terminal.getvalue().split("\r\x1b[K")[1:-1]]
    assert list(dict.fromkeys(lines)) == (
        [
            "1 of 2 ranks are here",
            "2 of 2 ranks are here",
            "[0/2]",
            "[0/2] all_reduce 1 KiB",
            "[1/2] all_reduce 1 KiB",
            "[1/2] all_reduce 1 MiB",
            "[2/2] all_reduce 1 MiB",
        ]
        if shown
        else []
    )


def test_a_command_whose_rank_0_is_elsewhere_shows_only_what_went_wrong(
    tmp_path: Path, act: Act, nccltool: Nccltool
) -> None:
    words = (*COMMAND, "--node-rank", "1", "--rdzv-endpoint", "alpha:29500", "--output", str(tmp_path / "out"))
    act(HELLO[1:])
    said = nccltool(*words)
    assert (said.code, said.out, said.err) == (0, "", "")
    act(HELLO[1:], [DIED])
    said = nccltool(*words)
    assert (said.code, said.out, said.err) == (3, "", f"ERROR rank-died: {DIED.message}\n")
    assert not (tmp_path / "out").exists()
