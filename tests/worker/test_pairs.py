"""Pairs of emulated nodes: who dies or hangs is named, and costs the others nothing."""

import signal
import socket
from pathlib import Path

import pytest

from tests.support.commands import NCCLTOOL, Ended
from tests.worker.conftest import Start

pytestmark = pytest.mark.torch

PAIRS = (*NCCLTOOL, "pairs")
HOST = socket.gethostname()
LIMIT_S = 240
SMALL = ("--nodes", "4", "--bytes", "64KiB", "--pair-time", "0.05", "--rounds", "3", "--deadline", "200")


def measured(start: Start, *words: str, **env: str) -> Ended:
    command = start(*words, argv=PAIRS, **env)
    ended = command.wait(LIMIT_S)
    assert command.everything_gone(), command.living()
    assert ended.litter == []
    return ended


def met(ended: Ended) -> dict[frozenset[str], float | None]:
    """Pairs of the run, without the name of the host."""
    short = [(frozenset({one["a"].split(":")[1], one["b"].split(":")[1]}), one) for one in ended.document["pairs"]]
    return {pair: one["busbw_bytes_per_s"] for pair, one in short}


@pytest.mark.slow
@pytest.mark.parametrize("op", ["all_reduce", "send_recv"])
def test_every_pair_meets_and_data_is_right(start: Start, op: str) -> None:
    ended = measured(start, *SMALL, "--all-pairs", "--op", op)
    found = met(ended)
    assert ended.code in (0, 1), ended.said  # nodes on one busy machine may differ
    assert len(found) == 6
    assert all(found.values())
    assert "wrong-data" not in ended.findings
    directed = {(one["a"], one["b"]) for one in ended.document["pairs"] if one["directed"]}
    assert len(directed) == (12 if op == "send_recv" else 0)


@pytest.mark.slow
def test_wrong_data_is_found(start: Start) -> None:
    ended = measured(start, *SMALL, "--rounds", "1", NCCLTOOL_FAULT="corrupt:rank=2")
    assert ended.code == 1, ended.said
    assert ended.findings["wrong-data"]["subject"] == {"kind": "rank", "name": "2"}


@pytest.mark.slow
def test_a_stopped_rank_costs_its_own_tests_alone(start: Start) -> None:
    ended = measured(start, *SMALL, "--timeout", "10", NCCLTOOL_FAULT="stop:rank=2")
    assert ended.code == 3, ended.said
    assert ended.findings["rank-hung"]["subject"] == {"kind": "rank", "name": "2"}
    found = met(ended)
    assert all((busbw is None) == ("2" in pair) for pair, busbw in found.items())
    assert {pair for pair in found if "2" not in pair} == {frozenset(pair) for pair in ("01", "03", "13")}


@pytest.mark.slow
def test_what_others_measured_is_kept_if_rank_0_hangs(start: Start) -> None:
    ended = measured(start, *SMALL, "--timeout", "10", NCCLTOOL_FAULT="stop:rank=0")
    assert ended.code == 3, ended.said
    assert ended.findings["rank-hung"]["subject"] == {"kind": "rank", "name": "0"}
    found = met(ended)
    assert len(found) == 1
    assert all(busbw and "0" not in pair for pair, busbw in found.items()), ended.said


@pytest.mark.slow
def test_a_killed_rank_is_named_and_what_was_measured_is_kept(start: Start) -> None:
    ended = measured(start, *SMALL, NCCLTOOL_FAULT="kill:rank=2")
    assert ended.code == 3, ended.said
    assert ended.findings["rank-died"]["subject"] == {"kind": "rank", "name": "2"}
    assert all(busbw is None for pair, busbw in met(ended).items() if "2" in pair)


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured(start: Start) -> None:
    command = start(*SMALL, "--pair-time", "5", argv=PAIRS)
    command.wait_for("round-ended", LIMIT_S)
    command.process.send_signal(signal.SIGINT)
    ended = command.wait(LIMIT_S)
    assert command.everything_gone(), command.living()
    assert (ended.code, ended.document["exit_code"]) == (130, 130), ended.said
    assert len(met(ended)) >= 2


@pytest.mark.slow
def test_isolated_pairs_survive_a_rank_that_dies(start: Start) -> None:
    words = ("--isolated", "--join-timeout", "60")
    ended = measured(start, *SMALL, *words, NCCLTOOL_FAULT="kill:rank=2")
    found = met(ended)
    assert all((busbw is None) == ("2" in pair) for pair, busbw in found.items()), ended.said
    failed = [one for one in ended.document["pairs"] if f"{HOST}:2" in (one["a"], one["b"])]
    assert failed
    assert all("was killed by SIGKILL" in one["reason"] for one in failed)


def test_what_is_asked_for_beside_the_result(start: Start, tmp_path: Path) -> None:
    """The one test of every change that measures pairs: jobs of their own, a picture, and a list."""
    picture, listed = tmp_path / "heat.svg", tmp_path / "exclude"
    words = ("--isolated", "--expect", "0.0001GB/s", "--plot", str(picture), "--write-exclude", str(listed))
    ended = measured(start, *SMALL, "--nodes", "2", "--rounds", "1", *words)
    assert ended.code == 0, ended.said
    assert len(met(ended)) == 1
    assert (listed.read_text(), f">{HOST}:1<" in picture.read_text()) == ("", True)


@pytest.mark.slow
def test_groups_of_three(start: Start, tmp_path: Path) -> None:
    listed = tmp_path / "exclude"
    ended = measured(start, *SMALL, "--rounds", "4", "--groups", "3", "--write-exclude", str(listed))
    groups = [one["members"] for one in ended.document["groups"]]
    assert ended.code in (0, 1, 4), ended.said  # emulated nodes on one busy machine may differ
    assert len({frozenset(members) for members in groups}) > 1
    assert {len(members) for members in groups} == {3}
    assert listed.exists()


@pytest.mark.slow
def test_ranks_within_nodes(start: Start) -> None:
    ended = measured(start, *SMALL, "--nodes", "2", "--nproc-per-node", "3", "--within")
    pairs = {frozenset({one["a"], one["b"]}) for one in ended.document["pairs"]}
    inside = {
        frozenset({f"{HOST}:{n}/{a}", f"{HOST}:{n}/{b}"}) for n in (0, 1) for a, b in ((0, 1), (0, 2), (1, 2))
    }
    assert pairs == inside, ended.said
