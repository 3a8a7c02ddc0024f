"""Lines about channels are counted for each host and way, exactly, wherever blocks are cut."""

from collections import Counter

import pytest

from nccltool.triage.logs.base import LogEvent
from nccltool.triage.logs.reader import LogReader
from nccltool.triage.timeline.builder import TimelineBuilder
from nccltool.triage.timeline.model import Timeline

WAYS = ("P2P/CUMEM/read", "NET/IB/0/GDRDMA", "NET/IB/1/GDRDMA", "SHM/direct/direct")


def channel(host: str, rank: int, way: str, label: str = "") -> str:
    head = f"{label}{host}:{100 + rank}:{200 + rank} [{rank % 8}] NCCL INFO"
    return f"{head} Channel 00/0 : {rank}[{rank % 8}] -> 1[1] via {way}"


def job(label: str = "") -> list[str]:
    lines = []
    for number in range(600):
        host = f"node-{number % 3}"
        lines.append(channel(host, number % 24, WAYS[number * 7 % 4], label.format(number=number)))
        if number % 50 == 7:
            lines.append(f"{host}:1:1 [0] NCCL INFO Using network IB")
        if number % 90 == 8:
            lines.append("step 5")
    return lines


def events(text: str, size: int) -> list[LogEvent]:
    data = text.encode()
    return list(LogReader().read("log", [data[at : at + size] for at in range(0, len(data), size)]))


def told(found: list[LogEvent], count: int) -> Timeline:
    builder = TimelineBuilder()
    for event in found:
        builder.add(event)
    return builder.timeline(count)


@pytest.mark.parametrize("size", [37, 999, 1 << 16])
@pytest.mark.parametrize("label", ["", "[rank3]: ", "2026-01-02T03:04:{number:02}Z ", "[default{number}]:"])
def test_each_line_counts_once(size: int, label: str) -> None:
    lines = job(label)
    timeline = told(events("\n".join(lines), size), len(lines))
    for host in ("node-0", "node-1", "node-2"):
        own = [line.rpartition(" via ")[2] for line in lines if f"{host}:" in line and " via " in line]
        expected = Counter(
            "NET/IB/GDRDMA" if "NET" in way else "/".join(way.split("/")[: 1 + ("P2P" in way)]) for way in own
        )
        assert dict(timeline.hosts[host].transports) == expected
    assert timeline.counts["nccl.channel"] == 600


def test_few_of_them_are_read_and_the_others_have_their_lines() -> None:
    lines = job()
    found = events("\n".join(lines), 1 << 16)
    read = [event for event in found if event.kind == "nccl.channel" and not event.repeats]
    assert len(read) < 60
    for event in [*read, *(event for event in found if event.kind == "nccl.network")]:
        assert event.text in lines[event.line - 1]
    assert len([event for event in found if event.kind == "nccl.network"]) == 12


@pytest.mark.parametrize("behind", ["", "\n"])
@pytest.mark.parametrize("place", [0, 300, 598])
def test_what_stands_in_the_line_of_a_channel_is_read(behind: str, place: int) -> None:
    """Writers that are not kept apart put a warning into a line that otherwise looks like hundreds of others."""
    lines = job()
    at = [index for index, line in enumerate(lines) if " via " in line][place]
    lines[at] += " node-9:7:7 [0] NCCL WARN Call to accept failed : Too many open files"
    (event,) = [event for event in events("\n".join(lines) + behind, 4096) if event.kind == "limits.files"]
    assert (event.host, event.line) == ("node-9", at + 1)


def test_a_channel_in_the_line_of_another_one_is_read() -> None:
    line = channel("node-0", 1, "SHM ") + channel("node-1", 2, "P2P/CUMEM")
    found = events(f"{line}\n" * 3, 4096)
    assert {event.host for event in found} == {"node-0", "node-1"}


def test_lists_of_rings_are_no_connections() -> None:
    assert events("n1:1:1 [0] NCCL INFO Channel 00/02 :    0   1\n" * 9, 4096) == []
