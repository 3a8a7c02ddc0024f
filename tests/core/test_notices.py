"""What was found, on a screen: all of it where there is room, else the worst of it."""

from dataclasses import replace

import pytest

from nccltool.core.look import PLAIN, Look
from nccltool.core.notices import BELOW, Notice, circumstances, of_finding, shown, verdict_line
from tests import samples

ONE = Notice(
    word="ERROR",
    text="ALG001 unknown-algorithm: 'Rign' is no algorithm",
    evidence=("environment: NCCL_ALGO=Rign", "                       ^^^^", "known: Ring, Tree", "a fourth line"),
    remedy="correct the word",
    explain="ALG001",
    more=("again: nccltool doctor",),
)
WARNING = replace(
    ONE, word="WARNING", text="LIM001: few files", evidence=("soft 1024",), explain="LIM001", more=()
)


def test_in_a_pipe_everything_is_shown_and_nothing_is_wrapped() -> None:
    assert shown(PLAIN, [ONE, WARNING], 0) == [
        "ERROR ALG001 unknown-algorithm: 'Rign' is no algorithm",
        "    environment: NCCL_ALGO=Rign",
        "                           ^^^^",
        "    known: Ring, Tree",
        "    a fourth line",
        "    -> correct the word",
        "    again: nccltool doctor",
        "    nccltool explain ALG001",
        "WARNING LIM001: few files",
        "    soft 1024",
        "    -> correct the word",
        "    nccltool explain LIM001",
    ]


ALL = [
    "ERROR ALG001 unknown-algorithm: 'Rign' is no algorithm",
    "    environment: NCCL_ALGO=Rign",
    "                           ^^^^",
    "    known: Ring, Tree",
    "    -> correct the word",
    "    nccltool explain ALG001",
]
HINT = "-v shows the evidence; nccltool explain CODE has details"


@pytest.mark.parametrize(
    ("room", "lines"),
    [
        (
            10,
            [
                *ALL,
                "WARNING LIM001: few files",
                "    soft 1024",
                "    -> correct the word",
                "    nccltool explain LIM001",
            ],
        ),
        (9, [*ALL, "WARNING LIM001: few files", "    -> correct the word", HINT]),
        (8, [*ALL, "WARNING LIM001: few files", HINT]),
        (5, [ALL[0], "    -> correct the word", "WARNING LIM001: few files", "    -> correct the word", HINT]),
        (4, [ALL[0], "    -> correct the word", "WARNING LIM001: few files", HINT]),
        (3, [ALL[0], "    -> correct the word", "and 1 more; -v shows all"]),
        (0, [ALL[0], "    -> correct the word", "and 1 more; -v shows all"]),
    ],
)
def test_a_screen_shows_the_worst_most(room: int, lines: list[str]) -> None:
    look = Look(width=80, height=room + BELOW + 7)
    assert shown(look, [ONE, WARNING], 7) == lines
    assert len(shown(replace(look, verbose=True), [ONE, WARNING], 7)) == 12


def test_nothing_found_is_no_line() -> None:
    assert shown(Look(width=80, height=24), [], 3) == []


def test_a_long_line_of_a_log_does_not_fill_the_screen() -> None:
    long = replace(ONE, evidence=("word " * 100,))
    lines = shown(Look(width=40, height=24), [long], 0)
    assert len(lines) == 6
    assert [line for line in lines if line.endswith("word ...")] == [lines[3]]
    assert max(map(len, lines)) <= 40


def test_colors_are_in_the_words_alone() -> None:
    look = Look(colors=True)
    assert verdict_line(look, "fail", "probe: rank 1 died") == ["\x1b[1;31mFAIL\x1b[0m probe: rank 1 died"]
    assert verdict_line(look, "pass", "probe")[0].startswith("\x1b[32mPASS\x1b[0m ")
    assert shown(look, [WARNING], 0)[0] == "\x1b[33mWARNING\x1b[0m LIM001: few files"


def test_what_hosts_say_does_not_act_on_the_terminal() -> None:
    nasty = replace(ONE, text="\x1b[2J", evidence=("\x07",), remedy="\x9b31m", more=("\x1bc",))
    assert all(line.isprintable() for line in shown(PLAIN, [nasty], 0))
    assert verdict_line(PLAIN, "pass", "\x1b[2J") == ["PASS \\x1b[2J"]


def test_a_finding_in_parts() -> None:
    found = samples.finding(code="rank-died", message="rank 1 died", remedy="dmesg", evidence=("a\nb",))
    assert of_finding(found) == Notice(
        word="ERROR", text="rank-died: rank 1 died", evidence=("a", "b"), remedy="dmesg", explain="rank-died"
    )
    assert of_finding(replace(found, severity="info"), "a-name") == Notice(
        word="INFO", text="rank-died a-name: rank 1 died", evidence=("a", "b"), remedy="dmesg"
    )


def test_circumstances_are_one_line() -> None:
    info = samples.info(nodes=2, world_size=4, hosts=("n1", "n2"), emulated=False)
    assert circumstances(PLAIN, info) == ["2 nodes on n[1-2], 4 ranks, gloo"]
    assert circumstances(PLAIN, replace(info, emulated=True, hosts=("vm",), duration_s=1.25)) == [
        "2 nodes emulated on vm (no network measured), 4 ranks, gloo, 1.2 s"
    ]
    nobody = replace(info, nodes=None, hosts=(), world_size=None, backend=None)
    assert circumstances(PLAIN, nobody) == ["? nodes, no host responded, ? ranks"]
    imported = replace(nobody, tool="OSU micro-benchmarks 7.4")
    assert circumstances(PLAIN, imported) == ["? nodes, hosts not in the file, ? ranks"]
    many = replace(info, hosts=tuple(f"{'x' * 20}{number}y{'z' * number}" for number in range(30)))
    assert circumstances(PLAIN, many) == ["2 nodes on 30 hosts, 4 ranks, gloo"]
    verbose = circumstances(Look(verbose=True), info)
    assert verbose[0] == "2 nodes on n[1-2], 4 ranks, gloo"
    assert len(verbose) > 2
