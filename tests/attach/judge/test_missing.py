"""Ranks that should be on hosts that were looked at."""

from dataclasses import replace

import pytest

from nccltool.attach.judge.judge import judge
from nccltool.attach.judge.missing import MissingRank, missing_ranks
from nccltool.attach.seen.job import EmptyHost, JobLook, Unread
from tests.attach.judge.looks import R, look

_EMPTY = EmptyHost(host="n9", reason="no rank of a distributed job runs here", addresses=("10.0.0.9",))
_NONE = "n9 has none of the job's ranks"


def _with(*empty: EmptyHost, world: int = 4, unreached: tuple[Unread, ...] = ()) -> JobLook:
    return replace(look(R(host="n1"), R(host="n1"), world=world), empty=empty, unreached=unreached)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        pytest.param(_with(), (), id="no host is empty"),
        pytest.param(
            _with(_EMPTY),
            (
                MissingRank(rank=2, host="n9", is_certain=False, told=_NONE),
                MissingRank(rank=3, host="n9", is_certain=False, told=_NONE),
            ),
            id="the numbers agree",
        ),
        pytest.param(_with(_EMPTY, world=6), (), id="some hosts were not named"),
        pytest.param(_with(_EMPTY, unreached=(Unread(what="n3", reason="late"),)), (), id="or not reached"),
        pytest.param(
            _with(_EMPTY, replace(_EMPTY, host="n8"), world=6),
            tuple(
                MissingRank(rank=rank, host="", is_certain=False, told="n8, n9 have none of the job's ranks")
                for rank in range(2, 6)
            ),
            id="two hosts: which has which is not known",
        ),
        pytest.param(
            look(R(), R(), local=3, world=3), (MissingRank(rank=2, host="n1"),), id="beside others on its host"
        ),
    ],
)
def test_missing_ranks(seen: JobLook, expected: tuple[MissingRank, ...]) -> None:
    assert missing_ranks(seen) == expected


def test_the_host_of_the_store_has_lost_rank_0() -> None:
    seen = look(R(host="n1"), R(host="n2"))
    others = replace(seen, hosts=seen.hosts[1:], empty=(EmptyHost(host="n1", reason="", addresses=("10.0.0.1",)),))
    (one,) = missing_ranks(others)
    assert (one.rank, one.host, one.is_certain) == (0, "n1", True)
    verdict = judge(others)
    assert [(one.cause, one.rank, one.host, one.level) for one in verdict.culprits] == [("dead", 0, "n1", "high")]


def test_ranks_of_an_empty_host_are_dead_with_a_rival() -> None:
    verdict = judge(_with(_EMPTY))
    told = [(one.cause, one.rank, one.host, one.level) for one in verdict.culprits]
    assert (verdict.state, told) == ("hung", [("dead", 2, "n9", "medium"), ("dead", 3, "n9", "medium")])
    assert "--hosts names a host without ranks, and omits one that has some" in verdict.culprits[0].rivals
