"""A TOML file of checks/: its values, converted, and each mistake with the file, the line and the nearest key."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, get_origin, get_type_hints

from nccltool.core.errors import BadInput
from nccltool.core.text import escaped, nearest, shortened
from nccltool.core.toml_places import places
from nccltool.core.units import SECONDS, parse_bytes, parse_quantity
from nccltool.core.user_files import contents

LONGEST = 60
"""Characters of a wrong word that are shown."""
Convert = Callable[[object], Any]


@dataclass(frozen=True, slots=True)
class PartForm:
    """How a stage reads its part of a suite."""

    of: type | None
    """A dataclass with the keys that it may have; None = the stage needs no part, and is in every suite."""
    metrics: tuple[str, ...] = ()
    """Numbers that can be expected of it; () = it has none."""
    numbers_of: tuple[str, tuple[str, ...]] = ("", ())
    """The key that says what a number is of, and what that can be."""
    of_platforms: bool = False
    """Platforms may expect numbers of it too."""


def keys(form: type | None) -> dict[str, Convert]:
    """The keys that become fields of a dataclass: Annotated[int, whole(0, 64)] says how one is read."""
    hints = get_type_hints(form, include_extras=True) if form else {}
    return {name: hint.__metadata__[0] for name, hint in hints.items() if get_origin(hint) is Annotated}


class WrongValue(Exception):
    """What a value should be; becomes a problem with its place."""


def number(value: object, units: Mapping[str, float]) -> float:
    """A number with its unit, in the base unit."""
    known = ", ".join(units)
    found = parse_quantity(value, units) if isinstance(value, str) else None
    if found is None:
        raise WrongValue(f"must be a number with its unit in quotes, one of {known}")
    return found


def text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise WrongValue("must be text in quotes")
    return value.strip()


def flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise WrongValue("must be true or false")
    return value


def whole(low: int, high: int) -> Convert:
    def convert(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise WrongValue(f"must be a whole number from {low} to {high}")
        return value

    return convert


def word(known: Sequence[str]) -> Convert:
    def convert(value: object) -> str:
        if value not in known:
            near = nearest(str(value), known)
            raise WrongValue(f"must be one of {', '.join(known)}" + (f"; did you mean {near}?" if near else ""))
        return str(value)

    return convert


def each(one: Convert) -> Convert:
    """A list, each of it once."""

    def convert(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list) or not value:
            raise WrongValue("must be a non-empty list in brackets")
        return tuple(dict.fromkeys(one(item) for item in value))

    return convert


def size(value: object) -> int:
    """Bytes."""
    if not isinstance(value, str) or not re.search("[A-Za-z]", value):
        raise WrongValue("must be a size with its unit in quotes: 64 KiB")
    try:
        size = parse_bytes(value)
    except BadInput as error:
        raise WrongValue(f"must be a size: {error.message}") from error
    if not size:
        raise WrongValue("must be greater than 0")
    return size


def duration(value: object) -> float:
    """Seconds."""
    return number(value, SECONDS)


def list_or_all(known: Sequence[str], every: Sequence[str]) -> Convert:
    """A list of the known words; `all` = all of them."""
    convert = each(word(known))
    return lambda value: tuple(every) if value == "all" else convert(value)


@dataclass(slots=True)
class TomlFile:
    """One file: its values, and what is wrong with it."""

    file: str
    data: dict[str, Any]
    places: dict[tuple[str, ...], int]
    problems: list[str] = field(default_factory=list)

    def wrong(self, path: tuple[str, ...], message: str) -> None:
        """Note a mistake at the key, or at the table around it."""
        around = (path[:end] for end in range(len(path), 0, -1))
        line = next((f":{self.places[place]}" for place in around if place in self.places), "")
        self.problems.append(escaped(f"{self.file}{line}: {message}"))

    def read(self, path: tuple[str, ...], given: object, form: type | None) -> dict[str, Any]:
        """The values of a table, of which a dataclass is made; those without a default must be there."""
        values = self.table(path, given, keys(form))
        every = fields(form) if form else ()
        self.needed(path, given, [one.name for one in every if one.default is MISSING])
        return values

    def table(self, path: tuple[str, ...], given: object, keys: Mapping[str, Convert]) -> dict[str, Any]:
        """The values of a table; each key that is not known is a mistake."""
        if not isinstance(given, dict):
            self.wrong(path, f"{dotted(path)} must be a table: [{dotted(path)}]")
            return {}
        values = {}
        for key, value in given.items():
            if key not in keys:
                self.wrong((*path, key), _unknown((*path, key), keys))
                continue
            try:
                values[key] = keys[key](value)
            except WrongValue as wrong:
                self.wrong((*path, key), f"{dotted((*path, key))} {wrong}, not {shortened(repr(value), LONGEST)}")
        return values

    def needed(self, path: tuple[str, ...], given: object, names: Sequence[str]) -> None:
        for name in names:
            if isinstance(given, dict) and name not in given:
                self.wrong(path, f"{dotted(path) or 'the file'} needs {name}")

    def done(self) -> None:
        """Raises BadInput with the first mistake."""
        if self.problems:
            more = len(self.problems) - 1
            rest = f"; {more} more: nccltool checks validate {self.file}" if more else ""
            raise BadInput(self.problems[0], f"correct the file{rest}")


def dotted(path: Sequence[str]) -> str:
    """A key with its tables, as a person writes it."""
    return ".".join(word for word in path if not word.isdecimal())


def _unknown(path: tuple[str, ...], keys: Mapping[str, Convert]) -> str:
    near = nearest(path[-1], keys)
    hint = f"did you mean {near}?" if near else f"known keys: {', '.join(keys) or 'none'}"
    return f"unknown key {shortened(dotted(path), LONGEST)}; {hint}"


def opened(file: Path, what: str = "the suite") -> TomlFile:
    """The values of a file. Raises BadInput when it is not TOML."""
    try:
        text = contents(file, what).decode()
        return TomlFile(str(file), tomllib.loads(text), places(text))
    except (ValueError, RecursionError) as error:  # also of numbers with too many digits
        raise BadInput(f"{file} is not TOML: {escaped(str(error))}", "see checks/README.md") from error
