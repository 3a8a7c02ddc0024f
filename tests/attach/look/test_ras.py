"""RAS is asked where that is allowed, of a fake server that has its grammar."""

import os

import pytest

from nccltool.attach.look import nccl_version, ras
from nccltool.attach.look.order import RasQuery
from nccltool.attach.seen.ranks import RankFound
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.hosts.sources.base import Tree
from tests.attach.ras.fake_server import FakeRas
from tests.attach.ras.states import Communicator, Rank, State

_STATE = State(name="x", communicators=(Communicator(ranks=(Rank(rank=0), Rank(rank=1))),))
_SAFE, _RISKY = Version(2, 31, 1), Version(2, 28, 3)


def _rank(**settings: str) -> RankFound:
    return RankFound(host="n1", pid=os.getpid(), rank=0, settings=tuple(settings.items()))


@pytest.mark.parametrize("version", [_SAFE, Version(2, 30, 7)])
def test_two_answers(monkeypatch: pytest.MonkeyPatch, version: Version) -> None:
    monkeypatch.setattr(nccl_version, "of", lambda pid, tree: version)
    waits: list[float] = []
    with FakeRas(version="2.30.7", state=_STATE) as server:
        rank = _rank(NCCL_RAS_ADDR=f"127.0.0.1:{server.port}")
        answers, unread = ras.asked(RasQuery(initializing=False), [rank], Tree(), waits.append)
    assert [answer.document is not None for answer in answers] == [True, True]
    assert (unread, waits) == ((), [ras.BETWEEN_S])
    assert {line.split()[0] for line in server.asked} == {"CLIENT", "TIMEOUT", "SET", "VERBOSE"}


def test_silence_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nccl_version, "of", lambda pid, tree: _SAFE)
    with FakeRas(version="2.31.1", state=_STATE, habits=("closes",)) as server:
        rank = _rank(NCCL_RAS_ADDR=f"127.0.0.1:{server.port}")
        answers, unread = ras.asked(RasQuery(initializing=False), [rank], Tree(), lambda seconds: None)
    assert [answer.document for answer in answers] == [None]
    assert [one.what for one in unread] == ["NCCL's RAS"]


@pytest.mark.parametrize(
    ("version", "query", "settings", "reason", "missing"),
    [
        (_SAFE, RasQuery(initializing=True), {}, "communicators initialize", ""),
        (_RISKY, RasQuery(initializing=False), {}, "corrupts memory", "--ras always"),
        (Version(2, 30, 7), RasQuery(initializing=None), {}, "can crash the job", "--ras always"),
        (None, RasQuery(initializing=False), {}, "the version of NCCL is unknown", "--ras always"),
        (Version(2, 21, 5), RasQuery(initializing=False), {}, "has no RAS", ""),
        (_SAFE, RasQuery(initializing=False), {"NCCL_RAS_ENABLE": "0"}, "NCCL_RAS_ENABLE=0", ""),
        (_SAFE, RasQuery(initializing=False), {"NCCL_RAS_ADDR": "nonsense"}, "and not HOST:PORT", ""),
    ],
)
def test_it_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
    version: Version | None,
    query: RasQuery,
    settings: dict[str, str],
    reason: str,
    missing: str,
) -> None:
    monkeypatch.setattr(nccl_version, "of", lambda pid, tree: version or Unknown("none"))
    monkeypatch.setattr(ras, "ask", lambda *words, **more: pytest.fail("asked"))
    answers, (unread,) = ras.asked(query, [_rank(**settings)], Tree(), lambda seconds: None)
    assert answers == ()
    assert reason in unread.reason
    assert unread.missing.startswith(missing)
    assert bool(unread.missing) == bool(missing)


def test_a_job_without_ranks() -> None:
    assert ras.asked(RasQuery(initializing=False), [], Tree(), lambda seconds: None) == ((), ())
