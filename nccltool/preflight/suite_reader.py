"""Suites and platforms: which come with nccltool, what their TOML may hold, and what becomes of it."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nccltool.core import plugins
from nccltool.core.errors import BadInput
from nccltool.core.text import escaped
from nccltool.core.unknown_names import unknown
from nccltool.preflight import stages
from nccltool.preflight import suite_toml as toml
from nccltool.preflight.suite import METRICS, Expectation, Match, Platform, Suite
from nccltool.preflight.suite_toml import Convert, PartForm, TomlFile

SCHEMA = 1
_COMPARISONS = ("at_least", "at_most", "within")
_TOP_OF_PLATFORM: dict[str, Convert] = {"schema": toml.whole(SCHEMA, SCHEMA), "title": toml.text}
_TOP: dict[str, Convert] = {**_TOP_OF_PLATFORM, "about": toml.duration}
_PROVENANCE = ("source", "date", "measured_on", "seen_by_us")
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?", re.ASCII)


def folder() -> Path:
    """Where the files that come with nccltool are: inside the wheel, else beside the package."""
    inside = Path(__file__).parents[1] / "checks"
    return inside if inside.is_dir() else Path(__file__).parents[2] / "checks"


def files() -> Iterator[Path]:
    yield from sorted(folder().glob("*.toml"))
    yield from sorted((folder() / "platforms").glob("*.toml"))
    yield from _of_plugins()


def _of_plugins() -> Iterator[Path]:
    """Suites of other packages: NAME.toml in the package that the entry point NAME names."""
    for plugin in plugins.installed("suites"):
        there = plugins.folder(plugin)
        if there is not None and (there / f"{plugin.name}.toml").is_file():
            yield there / f"{plugin.name}.toml"
        elif there is not None:
            plugins.fail(plugin, f"the package {plugin.module} has no {plugin.name}.toml")


def platforms() -> tuple[Platform, ...]:
    return tuple(read_platform(file) for file in sorted((folder() / "platforms").glob("*.toml")))


def find(word: str, what: str = "suite") -> Path:
    """The file that a word names: a path, or the name of one that comes with nccltool. Raises BadInput."""
    if "/" in word or word.endswith(".toml"):
        return Path(word)
    there = [
        file for file in files() if what == "any" or (file.parent.name == "platforms") == (what == "platform")
    ]
    if named := next((file for file in there if file.stem == word), None):
        return named
    named_as = "suite or platform" if what == "any" else what
    raise unknown(
        named_as,
        word,
        [file.stem for file in there],
        "nccltool checks list shows the names; a path needs a slash: ./NAME.toml",
    )


def read(file: Path) -> Suite:
    """The suite of a file. Raises BadInput with the first mistake."""
    reader = toml.opened(file)
    suite = _suite(reader, file)
    reader.done()
    return suite


def read_platform(file: Path) -> Platform:
    """The platform of a file. Raises BadInput with the first mistake."""
    reader = toml.opened(file)
    platform = _platform(reader, file)
    reader.done()
    return platform


def problems(file: Path) -> tuple[str, ...]:
    """All mistakes of a file, be it a suite or a platform: that says which hosts it is about."""
    try:
        reader = toml.opened(file)
    except BadInput as error:
        return (escaped(f"{file}: {error.message}"),)
    (_platform if "match" in reader.data else _suite)(reader, file)
    return tuple(reader.problems)


def _suite(reader: TomlFile, file: Path) -> Suite:
    known = {stage.name: stage.part for stage in stages.every()}
    rest = {key: value for key, value in reader.data.items() if key not in known}
    top = reader.table((), rest, _TOP | dict.fromkeys(known, toml.text) if set(rest) - set(_TOP) else _TOP)
    reader.needed((), reader.data, ("schema", "title", "about"))
    values = {name: _part(reader, name, known[name]) for name in reader.data if name in known}
    whole = {} if reader.problems else values
    parts = {name: part.of(**whole[name]) for name, part in known.items() if part.of and name in whole}
    return Suite(
        name=file.stem,
        title=top.get("title", ""),
        path=str(file),
        about_s=top.get("about", 0.0),
        parts=parts,
    )


def _part(reader: TomlFile, name: str, part: PartForm) -> dict[str, Any]:
    given = reader.data[name]
    expected, plain = [], given
    if isinstance(given, dict):
        plain = dict(given)
        expected = plain.pop("expect", [])
    values = reader.read((name,), plain, part.of)
    if part.metrics:
        values["expect"] = _expectations(reader, name, part, expected, ("source",))
    elif expected:
        reader.wrong((name, "expect"), f"{name} does not measure numbers, so it cannot have expect")
    return values


def _expectations(
    reader: TomlFile, name: str, part: PartForm, given: object, needed: tuple[str, ...]
) -> tuple[Expectation, ...]:
    if not isinstance(given, list):
        reader.wrong((name, "expect"), f"{name}.expect must be written as [[{name}.expect]]")
        return ()
    paths = ((name, "expect", str(at)) for at in range(len(given)))
    found = [_expectation(reader, path, part, one, needed) for path, one in zip(paths, given, strict=True)]
    return tuple(one for one in found if one is not None)


def _expectation(
    reader: TomlFile, path: tuple[str, ...], part: PartForm, given: object, needed: tuple[str, ...]
) -> Expectation | None:
    before = len(reader.problems)
    values = reader.table(path, given, _keys(part, given))
    reader.needed(path, given, ("metric", *needed))
    written = [name for name in _COMPARISONS if isinstance(given, dict) and name in given]
    if len(written) != 1 and isinstance(given, dict):
        reader.wrong(path, f"{toml.dotted(path)} needs one of {', '.join(_COMPARISONS)}")
    if "date" in values and not _DATE.fullmatch(values["date"]):
        reader.wrong((*path, "date"), f"{toml.dotted(path)}.date must be 2026-05 or 2026-05-01")
    if len(reader.problems) > before:
        return None
    low, high, text = values.pop(written[0])
    of = values.pop(part.numbers_of[0], "")
    return Expectation(**values, of=of, low=low, high=high, text=text)


def _keys(part: PartForm, given: object) -> dict[str, Convert]:
    """The keys of an expectation; what its bounds may be depends on its metric."""
    metric = given.get("metric") if isinstance(given, dict) else None
    units = METRICS[metric].units if isinstance(metric, str) and metric in METRICS else {}
    known: dict[str, Convert] = {
        "metric": toml.word(part.metrics),
        part.numbers_of[0]: toml.word(part.numbers_of[1]),
        **toml.keys(Expectation),
    }
    if not units:
        return {**known, "at_least": toml.text, "at_most": toml.text, "within": lambda value: value}
    return {
        **known,
        "at_least": lambda value: (toml.number(value, units), None, f"at least {value}"),
        "at_most": lambda value: (None, toml.number(value, units), f"at most {value}"),
        "within": lambda value: _range(value, units),
    }


def _range(value: object, units: Mapping[str, float]) -> tuple[float, float, str]:
    if not isinstance(value, list) or len(value) != 2:
        raise toml.WrongValue("must be two numbers: [from, to]")
    low, high = (toml.number(bound, units) for bound in value)
    if low >= high:
        raise toml.WrongValue("must start with the smaller number")
    return low, high, f"from {value[0]} to {value[1]}"


def _platform(reader: TomlFile, file: Path) -> Platform:
    measure = {stage.name: stage.part for stage in stages.every() if stage.part.of_platforms}
    rest = {key: value for key, value in reader.data.items() if key not in ("match", *measure)}
    top = reader.table((), rest, _TOP_OF_PLATFORM)
    reader.needed((), reader.data, ("schema", "title", "match"))
    match = reader.read(("match",), reader.data.get("match", {}), Match)
    if reader.data.get("match") == {}:
        reader.wrong(("match",), "match needs at least one of gpu, gpus, provider, product")
    expected = {}
    for name, part in measure.items():
        given = reader.data.get(name, {})
        reader.table((name,), given, {"expect": lambda value: value})
        lists = given.get("expect", []) if isinstance(given, dict) else []
        expected[name] = _expectations(reader, name, part, lists, _PROVENANCE)
    return Platform(
        name=file.stem, title=top.get("title", ""), path=str(file), match=Match(**match), expect=expected
    )
