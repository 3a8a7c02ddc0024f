"""The suites and platforms that come with nccltool: the files of checks/, and which of them a word names."""

from collections.abc import Iterator
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.text import nearest, shortened
from nccltool.preflight import suite_reader
from nccltool.preflight.suite import Platform
from nccltool.preflight.suite_toml import LONGEST


def folder() -> Path:
    """Where the files that come with nccltool are: inside the wheel, else beside the package."""
    inside = Path(__file__).parents[1] / "checks"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "checks"


def files() -> Iterator[Path]:
    """All of them: suites, then platforms."""
    yield from sorted(folder().glob("*.toml"))
    yield from sorted((folder() / "platforms").glob("*.toml"))


def platforms() -> tuple[Platform, ...]:
    """Those that come with nccltool."""
    return tuple(suite_reader.read_platform(file) for file in sorted((folder() / "platforms").glob("*.toml")))


def find(word: str, what: str = "suite") -> Path:
    """The file that a word names: a path, or the name of one that comes with nccltool. Raises BadInput."""
    if "/" in word or word.endswith(".toml"):
        return Path(word)
    there = [
        file for file in files() if what == "any" or (file.parent.name == "platforms") == (what == "platform")
    ]
    for file in there:
        if file.stem == word:
            return file
    names = [file.stem for file in there]
    near = nearest(word, names)
    hint = f"is {near} meant?" if near else f"there are {', '.join(names) or 'none'}; a file is ./NAME.toml"
    raise BadInput(f"there is no {'file' if what == 'any' else what} {shortened(word, LONGEST)!r}", hint)
