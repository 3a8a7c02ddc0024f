"""What is refused in screen output, and with which sentence."""

import gzip
from collections.abc import Callable

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Told
from nccltool.interop.importers.nearest import LOOKED_FOR
from tests.interop.importers import samples

GOOD = samples.data("all_reduce-2.19.6.txt").decode()
OLD = samples.data("all_reduce-2.13.txt").decode()
FIRST = next(line for line in GOOD.splitlines() if line.split()[:1] == ["8"])
LAST = next(line for line in GOOD.splitlines() if line.startswith(" 17179869184"))
RANK = next(line for line in GOOD.splitlines() if line.startswith("#  Rank  3"))
NOTHING = Told()


def refused(text: str, told: Told = NOTHING) -> str:
    with pytest.raises(BadInput) as raised:
        importers.read(text.encode(), "out.txt", told)
    assert raised.value.exit_code == 2
    assert raised.value.remedy
    return raised.value.message


def changed(old: str, new: str, text: str = GOOD) -> str:
    assert old in text
    return text.replace(old, new)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", f"out.txt: it is empty; expected a result of {LOOKED_FOR}"),
        (
            "hello\n",
            f"out.txt: no result of {LOOKED_FOR} found, and nothing like one",
        ),
        (changed(RANK + "\n", ""), "out.txt, line 1: the line of rank 3 is missing in its list of devices"),
        (
            changed(RANK, RANK.replace("Rank  3", "Rank  2")),
            "out.txt, line 9: rank 2 is listed twice: outputs of several processes are mixed",
        ),
        (
            changed(RANK, RANK.replace(" device", " gerät")),
            "out.txt, line 9: expected '# Rank R ... on HOST device D [PCI] NAME'",
        ),
        (
            changed("all_reduce_perf", "hypercube_perf"),
            "out.txt: hypercube_perf tests an operation that nccltool does not know",
        ),
        (changed(": 207.095", ": x"), "out.txt, line 25: 'x' is not a number"),
        (GOOD.partition(FIRST)[0],
         "out.txt, line 17: the file ends before its first row; expected '# size count type ...' and rows"),
        (GOOD + "\n" + LAST + "\n",
         "out.txt, line 31: found a row after the footer; expected the headings of a table first"),
        (OLD, "out.txt: it does not name its operation (nccl-tests before 2.17)"),
        (
            "# bytes             N    type      op     time  algbw  busbw     res\n",
            "out.txt, line 1: the layout of nccl-tests 1; expected that of 2.0 or newer",
        ),
    ],
)  # fmt: skip
def test_refused(text: str, sentence: str) -> None:
    assert refused(text) == sentence


def test_ranks_that_are_not_listed() -> None:
    text = "".join(line for line in GOOD.splitlines(True) if "Rank" not in line)
    assert refused(text) == "out.txt: it does not list its ranks"
    (test,) = importers.read(text.encode(), "out.txt", Told(ranks=8))
    assert (test.world_size, test.hosts) == (8, None)


NOISE = [
    "node-a:41200:41311 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
    "[node-b:41205:0:41205] ucp_worker.c:1855 UCX  WARN  UCP worker does not support thread mode",
    "2026-07-10 09:12:00,123 INFO something else",
    "",
    "#",
    "# Reducing maxBytes to 17179869184 due to memory limitation",
]


@pytest.mark.parametrize("noise", NOISE)
def test_lines_of_others_change_nothing(noise: str) -> None:
    text = "\n".join(f"{line}\n{noise}" if index != 15 else line for index, line in enumerate(GOOD.splitlines()))
    wanted = importers.read(GOOD.encode(), "out.txt", Told())
    found = importers.read((text + "\n").encode(), "out.txt", Told())
    assert [row.halves for row in found[0].rows] == [row.halves for row in wanted[0].rows]
    assert found[0].hosts == wanted[0].hosts


WAYS: list[Callable[[str], str]] = [
    lambda text: text.replace("\n", "\r\n"),
    lambda text: "\ufeff" + text,
    lambda text: "\n\n" + text + "\n\n",
    lambda text: "".join(f"[prterun-node-a-77@1,0]<stdout>: {line}" for line in text.splitlines(True)),
    lambda text: "".join(f" 0: {line}" for line in text.splitlines(True)),
]


@pytest.mark.parametrize("way", WAYS)
def test_ways_of_the_same_text(way: Callable[[str], str]) -> None:
    (wanted,) = importers.read(GOOD.encode(), "out.txt", Told())
    (found,) = importers.read(way(GOOD).encode(), "out.txt", Told())
    assert [row.halves for row in found.rows] == [row.halves for row in wanted.rows]
    assert (found.op, found.world_size, found.average) == (wanted.op, wanted.world_size, wanted.average)


def test_a_packed_file_is_refused_with_its_kind() -> None:
    with pytest.raises(BadInput, match="is packed with gzip") as raised:
        importers.read(gzip.compress(GOOD.encode())[:-9], "out.txt", Told())
    assert "unpack it" in raised.value.remedy
