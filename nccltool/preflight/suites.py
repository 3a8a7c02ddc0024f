"""Suites and platforms: TOML files of checks/ that say what to run and what to expect, read and checked.

A mistake in a file is said with the file, the line, the key and the nearest key that there is.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from nccltool.core.errors import BadInput
from nccltool.core.input_files import contents
from nccltool.core.text import escaped, shortened
from nccltool.core.units import format_bytes, parse_bytes
from nccltool.probe import collectives
from nccltool.train import strategies as train_strategies

RUNGS = ("inventory", "doctor", "reach", "within", "across", "pairs", "train")
"""In the order in which they are climbed."""
SCHEMA = 1
_LONGEST = 60
_COMPARISONS = ("at_least", "at_most", "within")


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """What a number must be."""

    metric: str
    of: str
    """Operation or strategy; empty = each."""
    size: int | None
    """Bytes; None = the largest that was measured."""
    low: float | None
    high: float | None
    """In the base unit of the metric; None = no bound."""
    text: str
    """`at least 300 GB/s`, as it is written."""
    severity: Literal["fail", "warn"]
    backend: str
    """Only there; empty = anywhere."""
    nodes: int | None
    """Only with so many; None = any number."""
    source: str
    date: str
    measured_on: str
    seen_by_us: bool | None
    """None = the file does not say: a rule of ours rather than a number that somebody measured."""
    where: str
    """File and line."""

    @property
    def unit(self) -> str:
        """The base unit of what is measured."""
        return METRICS[self.metric].unit

    @property
    def name(self) -> str:
        """Short, for the code of the check: all_reduce-busbw-64MiB."""
        size = format_bytes(self.size).replace(" ", "") if self.size is not None else ""
        return "-".join(word for word in (self.of, self.metric, size) if word)

    @property
    def provenance(self) -> str:
        """The source in one line."""
        seen = {True: "seen by us", False: "not seen by us", None: ""}[self.seen_by_us]
        return "; ".join(word for word in (self.source, self.measured_on, self.date, seen) if word)


@dataclass(frozen=True, kw_only=True, slots=True)
class InventoryPart:
    """Which hosts and GPUs there must be."""

    gpus: int | None = None
    """On each host; None = as many as most hosts have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DoctorPart:
    """Which rules are asked."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ReachPart:
    """Who must reach whom."""

    names: Literal["fail", "warn", "ignore"] = "warn"
    """What it is when a host does not know another one's name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbePart:
    """What is measured, and what must come out."""

    ops: tuple[str, ...]
    sizes: tuple[int, ...]
    gpu_sizes: tuple[int, ...] = ()
    """Where every rank has a GPU; () = the same."""
    checks: int = 1
    row_s: float = 0.2
    """Time that one row may take to become precise."""
    expect: tuple[Expectation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainPart:
    """What is trained."""

    strategies: tuple[str, ...]
    steps: int = 3
    timed_steps: int = 0
    size: str = "tiny"
    expect: tuple[Expectation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Match:
    """Which hosts a platform is about. Empty or None = any."""

    gpu: str = ""
    """Part of the name of each GPU."""
    gpus: int | None = None
    """On a host."""
    provider: str = ""
    product: str = ""
    """How the name begins that the firmware gives the machine."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Platform:
    """Numbers that a kind of machine should reach."""

    name: str
    title: str
    path: str
    match: Match
    within: tuple[Expectation, ...] = ()
    across: tuple[Expectation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """What to run, rung by rung; None = the suite does without it."""

    name: str
    title: str
    path: str
    about_s: float
    """How long it takes on healthy nodes, as its writer says."""
    inventory: InventoryPart | None = None
    doctor: DoctorPart | None = None
    reach: ReachPart | None = None
    within: ProbePart | None = None
    across: ProbePart | None = None
    train: TrainPart | None = None
    platform: str = ""
    """The platform whose numbers were added."""

    @property
    def rungs(self) -> tuple[str, ...]:
        """Those that it has, in their order; pairs are not a part of any."""
        return tuple(name for name in RUNGS if getattr(self, name, None) is not None)


# ---- units


@dataclass(frozen=True, slots=True)
class Metric:
    """A number that can be expected."""

    unit: str
    """Its base unit."""
    units: Mapping[str, float]
    """As written in a file -> how many base units."""
    what: str


_BANDWIDTH = {"GB/s": 1e9, "MB/s": 1e6, "Gb/s": 1e9 / 8}
_TIME = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "m": 60.0, "h": 3600.0}
_SHARE = {"%": 0.01}
METRICS = {
    "busbw": Metric("B/s", _BANDWIDTH, "bus bandwidth"),
    "algbw": Metric("B/s", _BANDWIDTH, "algorithm bandwidth"),
    "time": Metric("s", _TIME, "median time of one call"),
    "late": Metric("s", _TIME, "how long the others wait for the last rank"),
    "share_of_limit": Metric("ratio", _SHARE, "bus bandwidth over what the wires allow"),
    "throughput": Metric("samples/s", {"samples/s": 1.0}, "sequences a second"),
    "exposed": Metric("ratio", _SHARE, "share of a step that waits for communication"),
    "efficiency": Metric("ratio", _SHARE, "speed against one rank alone"),
}
OF_PROBE = ("busbw", "algbw", "time", "late", "share_of_limit")
OF_TRAIN = ("throughput", "exposed", "efficiency")
_NUMBER = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([A-Za-z%/]+)", re.ASCII)


class _Wrong(Exception):
    """What a value should be; becomes a problem with its place."""


def _quantity(text: object, units: Mapping[str, float]) -> float:
    known = ", ".join(units)
    match = _NUMBER.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or match[2] not in units:
        raise _Wrong(f"must be a number with its unit in quotes, one of {known}")
    return float(match[1]) * units[match[2]]


def parse_duration(text: str, option: str) -> float:
    """Seconds of `60s`, `2 min`, `500ms`. Raises BadInput that names the option."""
    try:
        return _quantity(text, _TIME)
    except _Wrong as wrong:
        raise BadInput(f"{option} {shortened(text, _LONGEST)!r} is no time", f"{option} 60s, or 2min") from wrong


# ---- reading values


Convert = Callable[[object], Any]


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Wrong("must be text in quotes")
    return value.strip()


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("must be true or false")
    return value


def _whole(low: int, high: int) -> Convert:
    def convert(value: object) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise _Wrong(f"must be a whole number from {low} to {high}")
        return value

    return convert


def _word(known: Sequence[str]) -> Convert:
    def convert(value: object) -> str:
        if value not in known:
            near = difflib.get_close_matches(str(value), known, n=1)
            raise _Wrong(f"must be one of {', '.join(known)}" + (f"; is {near[0]} meant?" if near else ""))
        return str(value)

    return convert


def _each(one: Convert) -> Convert:
    def convert(value: object) -> tuple[Any, ...]:
        if not isinstance(value, list) or not value:
            raise _Wrong("must be a list in brackets with something in it")
        return tuple(dict.fromkeys(one(item) for item in value))

    return convert


def _size(value: object) -> int:
    if not isinstance(value, str) or not re.search("[A-Za-z]", value):
        raise _Wrong("must be a size with its unit in quotes: 64 KiB")
    try:
        size = parse_bytes(value)
    except BadInput as error:
        raise _Wrong(f"must be a size: {error.message}") from error
    if not size:
        raise _Wrong("must be more than nothing")
    return size


def _duration(value: object) -> float:
    return _quantity(value, _TIME)


def _list_or_all(known: Sequence[str]) -> Convert:
    def convert(value: object) -> tuple[str, ...]:
        return tuple(known) if value == "all" else tuple(_each(_word(known))(value))

    return convert


_OPS = _list_or_all(collectives.NAMES)


def _strategies(value: object) -> tuple[str, ...]:
    """`all` stays as it is: which of them can be done is known where they are started."""
    return ("all",) if value == "all" else tuple(_each(_word(train_strategies.NAMES))(value))


_PROBE_KEYS: dict[str, Convert] = {
    "ops": _OPS,
    "sizes": _each(_size),
    "gpu_sizes": _each(_size),
    "checks": _whole(0, 1000),
    "row_time": _duration,
}
_PARTS: dict[str, dict[str, Convert]] = {
    "inventory": {"gpus": _whole(0, 64)},
    "doctor": {"select": _each(_text), "ignore": _each(_text)},
    "reach": {"names": _word(("fail", "warn", "ignore"))},
    "within": _PROBE_KEYS,
    "across": _PROBE_KEYS,
    "pairs": {},
    "train": {
        "strategies": _strategies,
        "steps": _whole(1, 10_000),
        "timed_steps": _whole(0, 10_000),
        "size": _word(("tiny", "125m", "1b")),
    },
}
_NEEDED = {"within": ("ops", "sizes"), "across": ("ops", "sizes"), "train": ("strategies",)}
_TOP: dict[str, Convert] = {"schema": _whole(SCHEMA, SCHEMA), "title": _text, "about": _duration}
_TOP_OF_PLATFORM: dict[str, Convert] = {"schema": _whole(SCHEMA, SCHEMA), "title": _text}
_MATCH: dict[str, Convert] = {
    "gpu": _text,
    "gpus": _whole(0, 64),
    "provider": _word(("aws", "gcp", "azure", "oci")),
    "product": _text,
}
_PROVENANCE = ("source", "date", "measured_on", "seen_by_us")
_EXPECT: dict[str, Convert] = {
    "size": _size,
    "severity": _word(("fail", "warn")),
    "backend": _word(("nccl", "gloo")),
    "nodes": _whole(1, 100_000),
    "source": _text,
    "date": _text,
    "measured_on": _text,
    "seen_by_us": _flag,
}
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?", re.ASCII)


# ---- reading files


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in a file."""

    file: str
    line: int | None
    message: str

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return escaped(f"{place}: {self.message}")


_HEADER = re.compile(r"\s*(\[\[?)\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"""\s*["']?([A-Za-z0-9_.-]+)["']?\s*=""")


def _lines(text: str) -> dict[tuple[str, ...], int]:
    """Where tables and keys stand; tomllib does not say. Tables of a list are numbered from 0."""
    places: dict[tuple[str, ...], int] = {}
    counts: dict[str, int] = {}
    path: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            path = tuple(header[2].replace('"', "").split("."))
            if header[1] == "[[":
                counts[header[2]] = counts.get(header[2], -1) + 1
                path = (*path, str(counts[header[2]]))
            places.setdefault(path, number)
        elif key := _KEY.match(line):
            places.setdefault((*path, *key[1].split(".")), number)
    return places


@dataclass(slots=True)
class _Reader:
    """One file: its values, and what is wrong with it."""

    file: str
    data: dict[str, Any]
    places: dict[tuple[str, ...], int]
    problems: list[Problem] = field(default_factory=list)

    def wrong(self, path: tuple[str, ...], message: str) -> None:
        """Note a mistake at the key, or at the table around it."""
        line = next(
            (self.places[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.places), None
        )
        self.problems.append(Problem(self.file, line, message))

    def line_of(self, path: tuple[str, ...]) -> str:
        """File and line of a table."""
        return f"{self.file}:{self.places[path]}" if path in self.places else self.file

    def table(self, path: tuple[str, ...], given: object, keys: Mapping[str, Convert]) -> dict[str, Any]:
        """The values of a table; each key that is not known is a mistake."""
        if not isinstance(given, dict):
            self.wrong(path, f"{_dotted(path)} must be a table: [{_dotted(path)}]")
            return {}
        values = {}
        for key, value in given.items():
            if key not in keys:
                self.wrong((*path, key), _unknown((*path, key), keys))
                continue
            try:
                values[key] = keys[key](value)
            except _Wrong as wrong:
                self.wrong(
                    (*path, key), f"{_dotted((*path, key))} {wrong}, not {shortened(repr(value), _LONGEST)}"
                )
        return values

    def needed(self, path: tuple[str, ...], given: object, names: Sequence[str]) -> None:
        """Keys that a table must have."""
        for name in names:
            if isinstance(given, dict) and name not in given:
                self.wrong(path, f"{_dotted(path) or 'the file'} needs {name}")

    def done(self) -> None:
        """Raises BadInput with the first mistake."""
        if self.problems:
            more = len(self.problems) - 1
            rest = f"; {more} more: nccltool checks validate {self.file}" if more else ""
            raise BadInput(str(self.problems[0]), f"correct the file{rest}")


def _dotted(path: Sequence[str]) -> str:
    return ".".join(word for word in path if not word.isdecimal())


def _unknown(path: tuple[str, ...], keys: Mapping[str, Convert]) -> str:
    near = difflib.get_close_matches(path[-1], list(keys), n=1)
    hint = f"is {near[0]} meant?" if near else f"known keys: {', '.join(keys) or 'none'}"
    return f"{shortened(_dotted(path), _LONGEST)} is not known; {hint}"


def _open(file: Path) -> _Reader:
    try:
        text = contents(file, "the suite").decode()
        return _Reader(str(file), tomllib.loads(text), _lines(text))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{file} is not TOML: {escaped(str(error))}", "see checks/README.md") from error


def read(file: Path) -> Suite:
    """The suite of a file. Raises BadInput with the first mistake."""
    reader = _open(file)
    suite = _suite(reader, file)
    reader.done()
    return suite


def read_platform(file: Path) -> Platform:
    """The platform of a file. Raises BadInput with the first mistake."""
    reader = _open(file)
    platform = _platform(reader, file)
    reader.done()
    return platform


def problems(file: Path) -> tuple[Problem, ...]:
    """All mistakes of a file, be it a suite or a platform."""
    try:
        reader = _open(file)
    except BadInput as error:
        return (Problem(str(file), None, error.message),)
    (_platform if is_platform(reader.data) else _suite)(reader, file)
    return tuple(reader.problems)


def is_platform(data: Mapping[str, Any]) -> bool:
    """Whether a file is about a platform: it says which hosts it is about."""
    return "match" in data


def _suite(reader: _Reader, file: Path) -> Suite:
    parts = {key: value for key, value in reader.data.items() if key in _PARTS}
    rest = {key: value for key, value in reader.data.items() if key not in _PARTS}
    top = reader.table((), rest, _TOP | dict.fromkeys(_PARTS, _text) if set(rest) - set(_TOP) else _TOP)
    reader.needed((), reader.data, ("schema", "title", "about"))
    values = {name: _part(reader, name, given) for name, given in parts.items()}
    return Suite(
        name=file.stem,
        title=top.get("title", ""),
        path=str(file),
        about_s=top.get("about", 0.0),
        inventory=InventoryPart(**values["inventory"]) if "inventory" in parts else None,
        doctor=DoctorPart(**values["doctor"]) if "doctor" in parts else None,
        reach=ReachPart(**values["reach"]) if "reach" in parts else None,
        within=_probe_part(values["within"]) if "within" in parts else None,
        across=_probe_part(values["across"]) if "across" in parts else None,
        train=TrainPart(**{"strategies": (), **values["train"]}) if "train" in parts else None,
    )


def _probe_part(values: dict[str, Any]) -> ProbePart:
    row_s = values.pop("row_time", 0.2)
    return ProbePart(**{"ops": (), "sizes": (), "row_s": row_s, **values})


def _part(reader: _Reader, name: str, given: object) -> dict[str, Any]:
    expected = given.get("expect", []) if isinstance(given, dict) else []
    plain = {key: value for key, value in given.items() if key != "expect"} if isinstance(given, dict) else given
    values = reader.table((name,), plain, _PARTS[name])
    reader.needed((name,), given, _NEEDED.get(name, ()))
    if name in ("within", "across", "train"):
        values["expect"] = _expectations(reader, name, expected, of_platform=False)
    elif expected:
        reader.wrong((name, "expect"), f"{name} expects nothing of its own: it has no numbers")
    return values


def _expectations(reader: _Reader, name: str, given: object, of_platform: bool) -> tuple[Expectation, ...]:
    if not isinstance(given, list):
        reader.wrong((name, "expect"), f"{name}.expect must be written as [[{name}.expect]]")
        return ()
    found = [_expectation(reader, (name, "expect", str(at)), one, of_platform) for at, one in enumerate(given)]
    return tuple(one for one in found if one is not None)


def _expectation(reader: _Reader, path: tuple[str, ...], given: object, of_platform: bool) -> Expectation | None:
    train = path[0] == "train"
    before = len(reader.problems)
    metric = given.get("metric") if isinstance(given, dict) else None
    units = METRICS[metric].units if isinstance(metric, str) and metric in METRICS else {}
    bound: Convert = (lambda value: _bound(value, units)) if units else _text
    keys: dict[str, Convert] = {
        "metric": _word(OF_TRAIN if train else OF_PROBE),
        **({"strategy": _word(train_strategies.NAMES)} if train else {"op": _word(collectives.NAMES)}),
        **_EXPECT,
        "at_least": bound,
        "at_most": bound,
        "within": (lambda value: _range(value, units)) if units else (lambda value: value),
    }
    values = reader.table(path, given, keys)
    reader.needed(path, given, ("metric", *(_PROVENANCE if of_platform else ("source",))))
    written = [name for name in _COMPARISONS if isinstance(given, dict) and name in given]
    if len(written) != 1 and isinstance(given, dict):
        reader.wrong(path, f"{_dotted(path)} needs one of {', '.join(_COMPARISONS)}")
    if "date" in values and not _DATE.fullmatch(values["date"]):
        reader.wrong((*path, "date"), f"{_dotted(path)}.date must be 2026-05 or 2026-05-01")
    if len(reader.problems) > before:
        return None
    return _built(values, written[0], reader.line_of(path))


def _bound(value: object, units: Mapping[str, float]) -> tuple[float, str]:
    return _quantity(value, units), str(value)


def _range(value: object, units: Mapping[str, float]) -> tuple[tuple[float, str], tuple[float, str]]:
    if not isinstance(value, list) or len(value) != 2:
        raise _Wrong("must be two numbers: [from, to]")
    low, high = _bound(value[0], units), _bound(value[1], units)
    if low[0] >= high[0]:
        raise _Wrong("must go from the smaller number to the larger one")
    return low, high


def _built(values: dict[str, Any], comparison: str, where: str) -> Expectation:
    low, high, text = _bounds(comparison, values[comparison])
    return Expectation(
        metric=values["metric"],
        of=values.get("op") or values.get("strategy") or "",
        size=values.get("size"),
        low=low,
        high=high,
        text=text,
        severity=values.get("severity", "fail"),
        backend=values.get("backend", ""),
        nodes=values.get("nodes"),
        source=values["source"],
        date=values.get("date", ""),
        measured_on=values.get("measured_on", ""),
        seen_by_us=values.get("seen_by_us"),
        where=where,
    )


def _bounds(comparison: str, given: Any) -> tuple[float | None, float | None, str]:
    """(low, high, in words)."""
    if comparison == "at_least":
        return given[0], None, f"at least {given[1]}"
    if comparison == "at_most":
        return None, given[0], f"at most {given[1]}"
    return given[0][0], given[1][0], f"from {given[0][1]} to {given[1][1]}"


def _platform(reader: _Reader, file: Path) -> Platform:
    parts = {key: value for key, value in reader.data.items() if key in ("match", "within", "across")}
    rest = {key: value for key, value in reader.data.items() if key not in parts}
    top = reader.table((), rest, _TOP_OF_PLATFORM)
    reader.needed((), reader.data, ("schema", "title", "match"))
    match = reader.table(("match",), parts.get("match", {}), _MATCH)
    if parts.get("match") == {}:
        reader.wrong(("match",), "match must say what the hosts are: gpu, gpus, provider or product")
    expected = {}
    for name in ("within", "across"):
        given = parts.get(name, {})
        reader.table((name,), given, {"expect": lambda value: value})
        lists = given.get("expect", []) if isinstance(given, dict) else []
        expected[name] = _expectations(reader, name, lists, of_platform=True)
    return Platform(
        name=file.stem,
        title=top.get("title", ""),
        path=str(file),
        match=Match(**match),
        within=expected["within"],
        across=expected["across"],
    )


# ---- the folder


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
    return tuple(read_platform(file) for file in sorted((folder() / "platforms").glob("*.toml")))


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
    near = difflib.get_close_matches(word, names, n=1)
    hint = f"is {near[0]} meant?" if near else f"there are {', '.join(names) or 'none'}; a file is ./NAME.toml"
    raise BadInput(f"there is no {'file' if what == 'any' else what} {shortened(word, _LONGEST)!r}", hint)


def with_platform(suite: Suite, platform: Platform) -> Suite:
    """The suite, with what the platform expects of the rungs that the suite has."""
    within = suite.within and replace(suite.within, expect=(*suite.within.expect, *platform.within))
    across = suite.across and replace(suite.across, expect=(*suite.across.expect, *platform.across))
    return replace(suite, within=within, across=across, platform=platform.name)
