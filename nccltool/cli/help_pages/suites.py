"""Suites and platforms that come with nccltool: their title, and the file."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from nccltool.cli.help_pages.base import known, titled
from nccltool.preflight import suite_reader

ABOUT = "suites of nccltool preflight and platforms with published numbers"


def _files() -> dict[str, Path]:
    return {file.stem: file for file in suite_reader.files()}


def names() -> Sequence[str]:
    return tuple(_files())


def page(word: str) -> str | None:
    name = known(word, names())
    if name is None:
        return None
    file = _files()[name]
    told = tomllib.loads(file.read_text(encoding="utf-8"))
    about = f" Takes about {told['about']} on healthy nodes." if "about" in told else ""
    option = "--platform" if "match" in told else "--suite"
    lines = [
        f"{told['title']}.{about}",
        f"Run: `nccltool preflight {option} {name}`",
        f"What it checks, with the source of each number: `nccltool checks show {name}`",
        f"To change it: `nccltool checks copy {name} FILE`",
    ]
    return titled(name, "platform" if "match" in told else "suite", "\n\n".join(lines))
