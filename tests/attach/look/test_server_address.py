"""Where the worker server of a rank listens."""

import pytest

from nccltool.attach.look import server_address
from nccltool.attach.look.server_address import VARIABLE, ServerAddress
from nccltool.attach.seen.job import RankSample
from nccltool.attach.seen.ranks import RankFound
from nccltool.core.unknown import Unknown
from tests.attach.look.worker_servers import listening

_RANK = RankFound(host="n1", pid=7, rank=0, master="n1:29500")
_NAMED = RankFound(host="n1", pid=7, settings=((VARIABLE, "/tmp/s"),))


@pytest.mark.parametrize(
    ("rank", "sample", "expected"),
    [
        (_NAMED, None, ServerAddress(pid=7, path="/tmp/s")),
        (_NAMED, listening(7, 4000), ServerAddress(pid=7, path="/tmp/s")),
        (_RANK, listening(7, 4000), ServerAddress(pid=7, port=4000)),
        (_RANK, listening(7, 29500, 4000), ServerAddress(pid=7, port=4000)),
        (_RANK, None, None),
        (_RANK, RankSample(pid=7, process=None), None),
        (_RANK, listening(7, 4000, thread="pt_gloo_runloop"), None),
        (
            _RANK,
            listening(7, 4000, 5000),
            Unknown("2 ports listen on all addresses, so that none was asked"),
        ),
        (_RANK, listening(7), Unknown("0 ports listen on all addresses, so that none was asked")),
    ],
)
def test_of_rank(rank: RankFound, sample: RankSample | None, expected: ServerAddress | Unknown | None) -> None:
    assert server_address.of_rank(rank, sample) == expected


def test_names() -> None:
    assert [str(ServerAddress(pid=7, path="/tmp/s")), str(ServerAddress(pid=7, port=4))] == [
        "/tmp/s",
        "TCP port 4",
    ]
