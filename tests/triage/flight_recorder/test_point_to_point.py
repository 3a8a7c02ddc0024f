"""Messages between ranks: who sends what nobody takes, and who waits for whom."""

import json
from pathlib import Path
from typing import Any

import pytest

from nccltool.triage import flight_recorder
from tests.triage.flight_recorder.samples import GOOD, batch, message, waits, write

SEND, RECV = message("send 0->1", 1), message("recv 1<-0", 1)


SENT, RECEIVED = message("send 0->1", 1, finished=True), message("recv 1<-0", 1, finished=True)


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        (([SEND], [RECV]), []),
        (([SENT], [RECEIVED]), []),
        (([SEND], [message("recv 1<-0", 1, size=9)]), ["torch.fingerprint 0 send to rank 1 [[8]]"]),
        (
            ([SENT], [message("recv 1<-0", 1, 8, "Half", True)]),
            ["torch.fingerprint 0 recv from rank 0 [[8]] Half"],
        ),
        (([SENT], [message("recv 1<-0", 1, output_sizes=[[4, 2]])]), []),
        (([], [RECV]), ["torch.behind 0 rank 0 has not called the send for which rank 1 waits"]),
        (([SEND], []), ["torch.behind 1 rank 1 has not called the recv for which rank 0 waits"]),
        (([SENT], []), []),
        (([SENT, message("send 0->1", 2)], [RECEIVED]), ["torch.behind 1"]),
        (([SENT, message("send 0->1", 2, 9)], [RECEIVED, message("recv 1<-0", 2)]), ["torch.fingerprint 0"]),
        (([message("send 0->1", 900, 9)], [message("recv 1<-0", 700)]), ["torch.fingerprint 0"]),
        (([message("send 0->1", 900, 9, finished=True)], [message("recv 1<-0", 700, finished=True)]), []),
        (
            ([SEND, message("recv 0<-1", 2)], [message("send 1->0", 1), message("recv 1<-0", 2)]),
            ["torch.fingerprint 0 rank 0 waits for rank 1 in send to rank 1 [[8]] Float, rank 1 waits for rank 0"],
        ),
        ((batch(1, "send 0->1", "recv 0<-1"), batch(1, "send 1->0", "recv 1<-0")), []),
        ((batch(1, "send 0->1", "recv 0<-1"), batch(1, "send 1->0")), ["torch.behind 1 has not called the recv"]),
        ((batch(1, "send 0->1", "recv 0<-1"), batch(1, "send 1->0", finished=True)), ["torch.behind 1"]),
        (([*GOOD, waits(3)], [*GOOD, RECV]), ["torch.fingerprint 0 rank 0 waits for rank 1 in all_reduce"]),
        (([SEND], [], [RECV]), ["torch.behind 1"]),
        (([message("send 0->0", 1)], []), []),
    ],
)
def test_what_the_dumps_show_of_messages(
    tmp_path: Path, ranks: tuple[list[Any], ...], expected: list[str]
) -> None:
    events = list(flight_recorder.events(write(tmp_path, *ranks)))
    assert len(events) == len(expected)
    for event, words in zip(events, expected, strict=True):
        kind, rank, *text = words.split(maxsplit=2)
        assert (event.kind, str(event.rank)) == (kind, rank)
        assert " ".join(text) in event.text


def test_ranks_of_a_subgroup_are_those_of_the_world(tmp_path: Path) -> None:
    write(tmp_path, [], [message("send 0->1", 1, process_group=["7", "tp"])], [])
    for file in tmp_path.iterdir():
        document = json.loads(file.read_text())
        document["pg_config"]["7"] = {"name": "7", "desc": "tp", "ranks": "[1, 2]"}
        file.write_text(json.dumps(document))
    dumps = [flight_recorder.dump(str(file)) for file in sorted(tmp_path.iterdir())]
    (event,) = flight_recorder.events([one for one in dumps if one])
    assert (event.kind, event.rank, event.get("ranks")) == ("torch.behind", 2, "2")
