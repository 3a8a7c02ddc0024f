"""The pages, and the commands and blocks in them."""

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = (README, ROOT / "checks/README.md", *sorted((ROOT / "docs").rglob("*.md")))

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OPERATORS = {"|", "||", "&", "&&", ";", ">", ">>", "<", "2>", ")"}


@dataclass(frozen=True)
class Command:
    """A command line as a page has it."""

    page: Path
    line: str
    env: dict[str, str]
    argv: tuple[str, ...]

    @property
    def program(self) -> str:
        return self.argv[0] if self.argv else ""

    def words_of_nccltool(self) -> tuple[str, ...] | None:
        """The words after nccltool, which may stand behind a launcher; None when it is not called."""
        for index, word in enumerate(self.argv):
            if word in ("nccltool", "scripts/nccltool"):
                return self.argv[index + 1 :]
        return None

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {self.line}"


def commands(page: Path) -> Iterator[Command]:
    """Lines of sh blocks, and lines behind a $ of console blocks."""
    for kind, text in _FENCE.findall(page.read_text()):
        lines = text.replace("\\\n", " ").splitlines()
        if kind == "sh":
            yield from (_command(page, line) for line in lines if line.strip() and not line.startswith("#"))
        elif kind == "console":
            yield from (_command(page, line[2:]) for line in lines if line.startswith("$ "))


def _command(page: Path, line: str) -> Command:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words = list(lexer)
    end = next((index for index, word in enumerate(words) if word in _OPERATORS), len(words))
    words = words[:end]
    env = {}
    while words and re.match(r"[A-Z_]+=", words[0]):
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    return Command(page, line, env, tuple(words))


def hold(page: Path, begin: str, end: str, text: str) -> None:
    """Hold what stands between two lines of a page against `text`; UPDATE_GOLDEN=1 writes it there."""
    before, found, rest = page.read_text().partition(begin)
    assert found, f"{page.relative_to(ROOT)} has no {begin!r}"
    there, found, after = rest.partition(end)
    assert found, f"{page.relative_to(ROOT)} has no {end!r} after {begin!r}"
    if os.environ.get("UPDATE_GOLDEN"):
        page.write_text(before + begin + text + end + after)
        return
    assert there == text
