"""The lines on which tables and keys of a TOML file stand; tomllib does not say."""

import re

Path = tuple[str, ...]
_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*["']?([A-Za-z0-9_.-]+)["']?\s*=""")


def places(text: str) -> dict[Path, int]:
    """The line of each table and key, by its path. Tables of a list are numbered from 0."""
    found: dict[Path, int] = {}
    counts: dict[str, int] = {}
    path: Path = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            path = tuple(header[2].replace('"', "").split("."))
            if header[1] == "[[":
                counts[header[2]] = counts.get(header[2], -1) + 1
                path = (*path, str(counts[header[2]]))
            found.setdefault(path, number)
        elif key := _KEY.match(line):
            found.setdefault((*path, *key[1].split(".")), number)
    return found
