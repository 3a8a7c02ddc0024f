"""Commands on the pages that show what they print: played again, and held against the page.

A console block is an example when one of its commands has output. Those of a page run one after the other in one
folder. Comments in front of a block say what the page does not show:

    <!-- example: first: SHELL -->          run this before, in the same folder; $SHIPPED is tests/docs/shipped
    <!-- example: last: SHELL -->           run this afterwards, however it ended
    <!-- example: port: NUMBER -->          whatever port is free is taken in its place
    <!-- example: exact -->                 nothing in it is measured: only ids, versions and times may differ
    <!-- example: may print: REGEX -->      lines that have it come and go
    <!-- example: must print: REGEX -->     what this finds is there, although it is masked
    <!-- example: slow: REASON -->          it is played with the slow tests only
    <!-- example: hosts: HOSTS -->          tests/lab/test_examples.py plays it, on several hosts
    <!-- example: played by: FILE -->       another test plays it
    <!-- example: not run: REASON -->       it needs what a test machine lacks
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tests.docs.pages import ROOT

LIMIT_S = 240.0
HOST = "vm"
"""What the host that played the examples is called on the pages."""
SHIPPED = Path(__file__).parent / "shipped"
"""Logs, outputs of nccl-tests and the like, of which examples are made."""

_BLOCK = re.compile(r"^((?:<!-- example: [^\n]* -->\n)*)```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(
    r"<!-- example: (first|last|port|exact|may print|must print|slow|hosts|played by|not run)(?:: (.*))? -->"
)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)

_OF_THE_RUN = (
    (r"\b\d{8}T\d{6}Z(-[0-9a-f]+)?\b", "RUN"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "TIME"),
    (r"\bpid \d+", "pid NUMBER"),
    (r'"?\b[0-9a-f]{64}\b"?', "SECRET"),
    (r"\b((nccltool|torch|backend-version):? |(torch|version)=\")\d+\.\d+\.\d+(\+\w+)?", r"\1VERSION"),
)
"""What differs from run to run of anything."""
_MEASURED = (
    (r"\b(1|2|4|8|16|32|64|128|256|512) (?=[KMG]?iB\b|B\b)", r"=\1="),
    (r"[-+]?\b\d+(\.\d+)? ?(us|ms|s|min)\b", "DURATION"),
    (r"[-+]?\b\d+(\.\d+)? ?%", "PERCENT"),
    (r"(?!\b[01]\.0\b(?!e))[-+]?\b\d+(\.\d+)?e[-+]?\d+\b|(?!\b[01]\.0\b)[-+]?\b\d+\.\d+\b", "NUMBER"),
    (r"(?<![=\w])(?<!rank )(?<!code )\d{2,}\b(?! wrong element)", "NUMBER"),
    (r"[ \t]+", " "),
)
"""What differs where something is measured, in this order.

Sizes stay, and so do numbers of one digit, and those of ranks, exit codes and wrong elements.
"""
_VERDICT = re.compile(r"(pass|warn|fail|incomplete|unknown):? ", re.IGNORECASE)
_PEAK = (r"peak busbw .*?(?= \(exit code|$)", "peak busbw")
_COMES_AND_GOES = re.compile(r"\[\d+(/\d+)?\] |(every row|\d+ of \d+ rows, marked !,) could be off by more than ")
"""Progress, which a terminal shows only while it lasts, and how noisy the machine is."""
_MEASURED_COLUMNS = {
    *("time", "algbw", "busbw", "\u00b1%", "iterations", "alpha", "beta", "n-half", "residual"),
    *("loss error", "allowed", "step", "samples/s", "tokens/s", "exposed %", "scaling %", "memory MiB"),
}
_MEASURED_IN_TURNS = {"95 % interval", "ratio", "its interval"}
"""Of the table of settings that take turns, which alone has a column of the last name."""
_NOT_KNOWN = ("", "?")
_NOTES = re.compile(
    r",? ?(noisy: \+-[\d.]+ ?%|noisy: too few iterations|tail: median [\d.]+ \w+|waited [\d.]+ \w+ for rank \d+)"
)
"""Notes of a row that come and go."""


@dataclass(frozen=True)
class Step:
    """A command of an example, and what the page says that it prints."""

    line: str
    printed: str


@dataclass(frozen=True)
class Example:
    """A console block of a page."""

    page: Path
    begin: int
    """Where its text begins in the page."""
    end: int
    steps: tuple[Step, ...]
    notes: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.steps[0].line}"

    def noted(self, kind: str) -> tuple[str, ...]:
        return tuple(text for each, text in self.notes if each == kind)

    @property
    def first(self) -> tuple[str, ...]:
        return self.noted("first")

    @property
    def may_print(self) -> tuple[str, ...]:
        return self.noted("may print")

    @property
    def hosts(self) -> str | None:
        return next(iter(self.noted("hosts")), None)

    @property
    def exact(self) -> bool:
        return bool(self.noted("exact"))

    @property
    def slow(self) -> bool:
        return bool(self.noted("slow"))

    @property
    def played_here(self) -> bool:
        return not any(self.noted(kind) for kind in ("hosts", "played by", "not run"))


def examples(page: Path) -> Iterator[Example]:
    """The examples of a page; helps have their own test."""
    for block in _BLOCK.finditer(page.read_text()):
        steps = tuple(Step(line.replace("\\\n", ""), printed) for line, printed in _COMMAND.findall(block[2]))
        if any(step.printed for step in steps) and not any(step.line.endswith("--help") for step in steps):
            yield Example(page, *block.span(2), steps, tuple(_NOTE.findall(block[1])))


def play(example: Example, folder: Path) -> Iterator[str]:
    """What each step prints, on both streams, run in `folder`."""
    ports = {port: str(_free_port()) for port in example.noted("port")}

    def ran(line: str, **given: str) -> tuple[int, str]:
        code, said = run_line(_replaced(line, ports), folder, **given)
        return code, _replaced(said, {free: port for port, free in ports.items()})

    try:
        for line in example.first:
            code, said = ran(line, PYTHONPATH=str(ROOT), SHIPPED=str(SHIPPED))
            assert code == 0, f"{line}\n{said}"
        for step in example.steps:
            yield ran(step.line)[1]
    finally:
        for line in example.noted("last"):
            ran(line)


def differs(example: Example, said: list[str]) -> str:
    """The first command that prints what the page does not show, and what it prints; empty if there is none."""
    for step, now in zip(example.steps, said, strict=True):
        there = shape(step.printed, example.may_print, exact=example.exact)
        if shape(now, example.may_print, exact=example.exact) != there:
            return f"{step.line}\nprinted now:\n{now}"
    return ""


def written(example: Example, said: list[str]) -> None:
    """Put what was printed into the page; other measurements alone only for UPDATE_GOLDEN=all."""
    if os.environ.get("UPDATE_GOLDEN") != "all" and not differs(example, said):
        return
    text = example.page.read_text()
    lines = re.findall(_COMMAND, text[example.begin : example.end])
    block = "".join(f"$ {line}\n{now}" for (line, _), now in zip(lines, said, strict=True))
    example.page.write_text(text[: example.begin] + block + text[example.end :])


def shape(text: str, may_print: tuple[str, ...] = (), *, exact: bool = False) -> list[str]:
    """The lines of `text` without what is measured; `exact`: without ids, versions and times of day alone."""
    lines = [line for line in text.splitlines() if not _COMES_AND_GOES.match(line)]
    kept = [line for line in lines if not any(re.search(each, line) for each in may_print)]
    return [_masked(line, _OF_THE_RUN) for line in kept] if exact else list(_without(kept))


def _without(lines: list[str]) -> Iterator[str]:
    """`lines` without what is measured: in tables by their columns, elsewhere by what it looks like."""
    columns: list[tuple[str, int, int]] = []
    for above, line, below in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if re.fullmatch(r"-{2,}( +-{2,})+", below):
            spans = [each.span() for each in re.finditer(r"-+", below)]
            names = line if line[slice(*spans[0])].strip() else above  # headings of two lines have units below
            columns = [(names[slice(*span)].strip(), *span) for span in spans]
            yield " | ".join(name for name, _, _ in columns)
        elif set(line) != {"-", " "}:
            cells = _cells(line, columns)
            columns = columns if cells else []
            yield " | ".join(cells) or _plain(line)


def _cells(line: str, columns: list[tuple[str, int, int]]) -> list[str]:
    """The cells of a row; none where the line is no row of the table."""
    gaps = [line[end:begin] for (_, _, end), (_, begin, _) in pairwise(columns)]
    if not line or not columns or any(gap.strip() for gap in gaps):
        return []
    *first, (last, begin_of_last, _) = columns
    measured = _MEASURED_COLUMNS | (_MEASURED_IN_TURNS if last == "its interval" else set())
    cells = [_cell(name, line[begin:end].strip(), measured) for name, begin, end in first]
    return [*cells, _cell(last, line[begin_of_last:].strip(), measured)]


def _cell(column: str, text: str, measured: set[str]) -> str:
    if column in measured:
        return text if text in _NOT_KNOWN else "MEASURED"
    return _masked(_NOTES.sub("", text) if column == "note" else text, _OF_THE_RUN)


def _plain(line: str) -> str:
    masks = (_PEAK, *_MEASURED[:-2]) if _VERDICT.match(line) else _MEASURED
    return _masked(line, (*_OF_THE_RUN, *masks)).strip()


def _masked(line: str, masks: tuple[tuple[str, str], ...]) -> str:
    for pattern, word in masks:
        line = re.sub(pattern, word, line)
    return line


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _replaced(text: str, words: dict[str, str]) -> str:
    for old, new in words.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text


def run_line(line: str, folder: Path, **given: str) -> tuple[int, str]:
    """The exit code of a line of shell, and what it prints on both streams."""
    programs = Path(sys.executable).parent
    env = {
        "PATH": f"{folder}/bin:{programs}:{os.environ['PATH']}",
        "HOME": str(folder),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "CUDA_VISIBLE_DEVICES": "",  # the pages show what a machine without GPUs does
        **given,
    }
    bash = shutil.which("bash")
    assert bash is not None
    process = subprocess.Popen(
        [bash, "-c", line],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, _named_alike(said.decode().replace(str(folder), "~"))


def _named_alike(text: str) -> str:
    """This host, and our own files, by the names that they have on the pages; columns stay where they are."""
    text = re.sub(r"[^\s(]*/checks/(?=\w+\.toml)", "nccltool/checks/", text)
    name = socket.gethostname()
    gap = " " * max(0, len(name) - len(HOST))
    text = re.sub(rf"\b{re.escape(name)}(?=  )", HOST + gap, text)
    return re.sub(rf"\b{re.escape(name)}\b", HOST, text)
