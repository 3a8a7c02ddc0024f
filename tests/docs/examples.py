"""Commands on the pages that show what they print: played again, and held against the page.

A console block is an example when one of its commands has output. Those of a page run one after the other in one
folder. Comments in front of a block say what the page does not show:

    <!-- example: first: SHELL -->          run this before, in the same folder
    <!-- example: may print: REGEX -->      lines that have it come and go
    <!-- example: not run: REASON -->       it needs what a test machine lacks
"""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.docs.pages import ROOT

LIMIT_S = 240.0
HOST = "vm"
"""What the host that played the examples is called on the pages."""

_BLOCK = re.compile(r"^((?:<!-- example: .* -->\n)*)```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"<!-- example: (first|may print|not run): (.*) -->")
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)

_MEASURED = (
    (r"\b\d{8}T\d{6}Z(-[0-9a-f]+)?\b", "RUN"),
    (r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", "TIME"),
    (r",? ?(noisy: \+-[\d.]+ ?%|tail: median [\d.]+ \w+)", ""),
    (r"\b(1|2|4|8|16|32|64|128|256|512) (?=[KMG]?iB\b|B\b)", r"=\1="),
    (r"[-+]?\b\d+(\.\d+)? ?(us|ms|s|min)\b", "DURATION"),
    (r"[-+]?\b\d+(\.\d+)? ?%", "PERCENT"),
    (r"[-+]?\b\d+(\.\d+)?e[-+]?\d+\b|[-+]?\b\d+\.\d+\b", "NUMBER"),
    (r"\bpid \d+", "pid NUMBER"),
    (r"(?<![=\w])\d{2,}\b", "NUMBER"),
    (r"-{3,}", "---"),
    (r"[ \t]+", " "),
)
"""What differs from run to run, in this order; sizes stay, and so do numbers of one digit, as those of ranks."""


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
    first: tuple[str, ...]
    may_print: tuple[str, ...]
    not_run: str | None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.steps[0].line}"


def examples(page: Path) -> Iterator[Example]:
    """The examples of a page; helps and figures of a family have their own tests."""
    for block in _BLOCK.finditer(page.read_text()):
        notes = _NOTE.findall(block[1])
        steps = tuple(Step(line.replace("\\\n", ""), printed) for line, printed in _COMMAND.findall(block[2]))
        if any(step.printed for step in steps) and not any(step.line.endswith("--help") for step in steps):
            yield Example(
                page,
                *block.span(2),
                steps,
                tuple(text for kind, text in notes if kind == "first"),
                tuple(text for kind, text in notes if kind == "may print"),
                next((text for kind, text in notes if kind == "not run"), None),
            )


def play(example: Example, folder: Path) -> Iterator[str]:
    """What each step prints, on both streams, run in `folder`."""
    for line in example.first:
        _said(line, folder)
    for step in example.steps:
        yield _said(step.line, folder)


def written(example: Example, said: list[str]) -> None:
    """Put what was printed into the page."""
    text = example.page.read_text()
    lines = re.findall(_COMMAND, text[example.begin : example.end])
    block = "".join(f"$ {line}\n{now}" for (line, _), now in zip(lines, said, strict=True))
    example.page.write_text(text[: example.begin] + block + text[example.end :])


def shape(text: str, may_print: tuple[str, ...] = ()) -> list[str]:
    """The lines of `text` without what is measured."""
    kept = (line for line in text.splitlines() if not any(re.search(each, line) for each in may_print))
    return [_masked(line) for line in kept]


def _masked(line: str) -> str:
    for pattern, word in _MEASURED:
        line = re.sub(pattern, word, line)
    return line.strip()


def _said(line: str, folder: Path) -> str:
    programs = Path(sys.executable).parent
    env = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / ".state"),
        "LC_ALL": "C.UTF-8",
    }
    bash = shutil.which("bash")
    assert bash is not None
    done = subprocess.run(
        [bash, "-c", line],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_S,
        check=False,
    )
    text = done.stdout.decode().replace(str(folder), "/home/sre")
    return re.sub(rf"\b{re.escape(socket.gethostname())}\b", HOST, text)
