"""Lines to events: every dialect, mixed writers, and bytes that are no log at all."""

import json
import re
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.triage.logs import reader
from nccltool.triage.logs.base import LONGEST_TEXT, LogEvent
from nccltool.triage.logs.reader import LogReader
from tests.incidents import INCIDENTS


def read(text: str | bytes) -> list[LogEvent]:
    data = text.encode() if isinstance(text, str) else text
    return list(LogReader().read("log", [data]))


def kinds(text: str) -> list[str]:
    return [event.kind for event in read(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n1:7:9 [3] NCCL INFO Using network IB", ("nccl.network", "n1", 7, 3, {"name": "IB"})),
        ("[2] NCCL INFO Using network Socket", ("nccl.network", None, None, 2, {"name": "Socket"})),
        (
            "[2026-01-02 03:04:05] n1:7:9 [3] misc/socket.cc:71 NCCL WARN socketProgress: Connection closed by "
            "remote peer n2<4711>",
            ("nccl.peer-closed", "n1", 7, 3, {"peer": "n2", "port": "4711", "where": "misc/socket.cc:71"}),
        ),
        (
            "old:5:6 [0] include/socket.h:360 WARN Call to connect failed : Connection timed out",
            (
                "nccl.connect-failed",
                "old",
                5,
                0,
                {"error": "Connection timed out", "where": "include/socket.h:360"},
            ),
        ),
        (
            "r:1:2 [0] NCCL INFO Channel 01/0 : 3[3] -> 4[0] [receive] via NET/IB/0/GDRDMA",
            ("nccl.channel", "r", 1, 0, {"from": "3", "to": "4", "way": "receive", "via": "NET/IB/0/GDRDMA"}),
        ),
    ],
)
def test_lines_of_nccl(text: str, expected: tuple[object, ...]) -> None:
    (event,) = read(text)
    assert (event.kind, event.host, event.pid, event.device, dict(event.fields)) == expected


def test_a_log_of_dockers_json_file_driver_has_the_events_and_the_times_of_the_plain_one() -> None:
    line = "n1:7:9 [3] NCCL INFO Using network IB"
    entry = {"log": f"{line}\n", "stream": "stderr", "time": "2026-05-01T10:00:00.123456789Z"}
    (plain,), (event,) = read(f"\n{line}\n"), read(f'{{"log": ""}}\n{json.dumps(entry)}\n')
    assert (event.kind, event.text, event.line, event.host) == ("nccl.network", plain.text, 2, "n1")
    assert (plain.time, event.time) == (None, "2026-05-01 10:00:00.123456789")


def test_two_writers_in_one_line_are_two_messages() -> None:
    events = read("a:1:1 [0] NCCL INFO Using network IB b:2:2 [1] NCCL INFO Using network Socket")
    assert [(event.host, event.get("name")) for event in events] == [("a", "IB"), ("b", "Socket")]


def test_the_table_of_torchrun() -> None:
    (event,) = [
        event
        for event in read(
            "Root Cause (first observed failure):\n[0]:\n  time      : 2025-05-27_08:41:57\n"
            "  host      : solo4.lan\n  rank      : 3 (local_rank: 1)\n  exitcode  : -9 (pid: 63)  (SIGKILL)\n"
        )
        if event.kind == "torchrun.exit"
    ]
    assert (event.rank, event.host, event.time) == (3, "solo4", "2025-05-27 08:41:57")
    assert (event.get("code"), event.get("signal"), event.get("root")) == ("-9", "SIGKILL", "yes")


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        ("ValueError: too many values", "app.exception"),
        ("my.own.Oops: no suffix is needed at the end of a traceback", "app.exception"),
        ("torch.distributed.DistBackendError: NCCL error in: x.cpp:9, internal error", "app.echo"),
        ("RuntimeError: [x/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.1]:5", "app.echo"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried", "app.echo"),
    ],
)
def test_the_end_of_a_traceback(last: str, kind: str) -> None:
    text = f'Traceback (most recent call last):\n  File "/srv/a.py", line 3, in f\n    g()\n    ^^^\n{last}\n'
    (event,) = [event for event in read(text) if event.kind.startswith("app.")]
    assert (event.kind, event.line) == (kind, 5)
    assert event.get("frame") == "/srv/a.py:3"


def test_an_exception_after_another_one_is_an_echo() -> None:
    text = (
        "Traceback (most recent call last):\nKeyError: 'a'\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\nValueError: b\n"
    )
    assert kinds(text) == ["app.exception", "app.echo"]


def test_tracebacks_of_ranks_are_told_apart() -> None:
    text = (
        "[rank0]: Traceback (most recent call last):\n[rank1]: Traceback (most recent call last):\n"
        "[rank1]: KeyError: 'x'\n[rank0]: ValueError: y\n"
    )
    found = [(event.rank, event.get("type")) for event in read(text)]
    assert found == [(1, "KeyError"), (0, "ValueError")]


def _marks() -> Iterator[str]:
    for item in reader.PATTERNS:
        yield item.literal


def test_every_pattern_has_a_literal_that_its_lines_contain() -> None:
    """The literal is what a prefilter looks for: the expression must not match without it."""
    assert all(isinstance(item.literal, str) for item in reader.PATTERNS)
    for incident in INCIDENTS:
        for line in incident.log.splitlines():
            for item in reader.PATTERNS:
                if item.expression and item.expression.search(line) and item.literal not in line:
                    message = f"{item.kind}: {item.expression.pattern!r} fits {line!r} without {item.literal!r}"
                    assert re.escape(item.literal) not in item.expression.pattern, message


def test_long_text_is_cut_and_repeats_end() -> None:
    line = "n1:1:1 [0] NCCL WARN Call to accept failed : Too many open files " + "x" * 900
    (event,) = read(line)
    assert len(event.text) == LONGEST_TEXT
    assert len(read(f"{line}\n" * (reader._REPEATS + 100))) == reader._REPEATS


def test_lines_are_counted_over_all_files() -> None:
    reader = LogReader()
    for text in (b"a\nb\n", b"c", b"", b"x\ry\n"):
        list(reader.read("f", [text]))
    assert reader.lines_read == 4


WARNING = b"n1:1:1 [0] NCCL WARN Call to accept failed : Too many open files"


@pytest.mark.parametrize("size", [1000, 1 << 18])
@pytest.mark.parametrize(
    "log",
    [
        b"x" * (5 << 20) + b"\n" + WARNING + b"\n",
        b"y" * (5 << 20) + b" " + WARNING,
        WARNING + b" " + b"z" * (5 << 20) + b"\n",
        b"n1:1:1 [0] NCCL INFO Channel 00 : " + b"0 " * (2 << 20) + b"\n" + WARNING,
        b"\x00" * (1 << 20) + WARNING + b"\x00\n",
        b"\xff\xfe\x80" * 1000 + b"\n" + WARNING + b"\xe2\x82",
        WARNING.replace(b"open", b"op\x00en").replace(b"WARN", b"WA\x1b[0mRN"),
        b"n2:2:2 [1] NCCL INFO Using network " + WARNING + b"IB\n",
        b"\r".join([b"10%", b"20%", WARNING]),
    ],
    ids=[
        "long before",
        "long line",
        "long end",
        "long ring",
        "NUL",
        "broken",
        "within words",
        "interleaved",
        "bar",
    ],
)
def test_a_warning_is_found_in_whatever_stands_around_it(log: bytes, size: int) -> None:
    chunks = (log[at : at + size] for at in range(0, len(log), size))
    (event,) = [event for event in LogReader().read("log", chunks) if event.kind == "limits.files"]
    assert event.host == "n1"
    assert event.line == log[: log.find(b"n1:1:1 [0] NCCL WA")].count(b"\n") + 1


@given(st.binary(max_size=500))
def test_no_bytes_stop_the_reader(data: bytes) -> None:
    for event in read(data):
        assert "\x1b" not in event.text


_WORDS = sorted(
    {item.literal for item in reader.PATTERNS} | {"[rank1]: ", "n1:1:1 [0] NCCL WARN ", "9", ": ", "-1"}
)


@given(st.lists(st.sampled_from(_WORDS), max_size=6).map(" ".join))
def test_no_mixture_of_known_words_stops_the_judgement(text: str) -> None:
    from tests.triage.test_judge import diagnosis

    assert 0 <= diagnosis(text, f"{text}\n{text}").confidence <= 1
