"""Reads suites and platforms: what each table of their TOML may hold, and what becomes of it."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nccltool.core.errors import BadInput
from nccltool.preflight import suite_toml as toml
from nccltool.preflight.suite import (
    METRICS,
    OF_PROBE,
    OF_TRAIN,
    DoctorPart,
    Expectation,
    InventoryPart,
    Match,
    Platform,
    ProbePart,
    ReachPart,
    Suite,
    TrainPart,
)
from nccltool.preflight.suite_toml import Convert, Problem, TomlFile
from nccltool.probe import collectives
from nccltool.train import strategies as train_strategies

SCHEMA = 1
_COMPARISONS = ("at_least", "at_most", "within")
_OPS = toml.list_or_all(collectives.NAMES)


def _strategies(value: object) -> tuple[str, ...]:
    """`all` stays as it is: which of them can be done is known where they are started."""
    return ("all",) if value == "all" else tuple(toml.each(toml.word(train_strategies.NAMES))(value))


_PROBE_KEYS: dict[str, Convert] = {
    "ops": _OPS,
    "sizes": toml.each(toml.size),
    "gpu_sizes": toml.each(toml.size),
    "checks": toml.whole(0, 1000),
    "row_time": toml.duration,
}
_PARTS: dict[str, dict[str, Convert]] = {
    "inventory": {"gpus": toml.whole(0, 64)},
    "doctor": {"select": toml.each(toml.text), "ignore": toml.each(toml.text)},
    "reach": {"names": toml.word(("fail", "warn", "ignore"))},
    "within": _PROBE_KEYS,
    "across": _PROBE_KEYS,
    "pairs": {},
    "train": {
        "strategies": _strategies,
        "steps": toml.whole(1, 10_000),
        "timed_steps": toml.whole(0, 10_000),
        "size": toml.word(("tiny", "125m", "1b")),
    },
}
_NEEDED = {"within": ("ops", "sizes"), "across": ("ops", "sizes"), "train": ("strategies",)}
_TOP: dict[str, Convert] = {"schema": toml.whole(SCHEMA, SCHEMA), "title": toml.text, "about": toml.duration}
_TOP_OF_PLATFORM: dict[str, Convert] = {"schema": toml.whole(SCHEMA, SCHEMA), "title": toml.text}
_MATCH: dict[str, Convert] = {
    "gpu": toml.text,
    "gpus": toml.whole(0, 64),
    "provider": toml.word(("aws", "gcp", "azure", "oci")),
    "product": toml.text,
}
_PROVENANCE = ("source", "date", "measured_on", "seen_by_us")
_EXPECT: dict[str, Convert] = {
    "size": toml.size,
    "severity": toml.word(("fail", "warn")),
    "backend": toml.word(("nccl", "gloo")),
    "nodes": toml.whole(1, 100_000),
    "source": toml.text,
    "date": toml.text,
    "measured_on": toml.text,
    "seen_by_us": toml.flag,
}
_DATE = re.compile(r"\d{4}-\d{2}(-\d{2})?", re.ASCII)


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


def problems(file: Path) -> tuple[Problem, ...]:
    """All mistakes of a file, be it a suite or a platform."""
    try:
        reader = toml.opened(file)
    except BadInput as error:
        return (Problem(str(file), None, error.message),)
    (_platform if is_platform(reader.data) else _suite)(reader, file)
    return tuple(reader.problems)


def is_platform(data: Mapping[str, Any]) -> bool:
    """Whether a file is about a platform: it says which hosts it is about."""
    return "match" in data


def _suite(reader: TomlFile, file: Path) -> Suite:
    parts = {key: value for key, value in reader.data.items() if key in _PARTS}
    rest = {key: value for key, value in reader.data.items() if key not in _PARTS}
    top = reader.table((), rest, _TOP | dict.fromkeys(_PARTS, toml.text) if set(rest) - set(_TOP) else _TOP)
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


def _part(reader: TomlFile, name: str, given: object) -> dict[str, Any]:
    expected = given.get("expect", []) if isinstance(given, dict) else []
    plain = {key: value for key, value in given.items() if key != "expect"} if isinstance(given, dict) else given
    values = reader.table((name,), plain, _PARTS[name])
    reader.needed((name,), given, _NEEDED.get(name, ()))
    if name in ("within", "across", "train"):
        values["expect"] = _expectations(reader, name, expected, of_platform=False)
    elif expected:
        reader.wrong((name, "expect"), f"{name} expects nothing of its own: it has no numbers")
    return values


def _expectations(reader: TomlFile, name: str, given: object, of_platform: bool) -> tuple[Expectation, ...]:
    if not isinstance(given, list):
        reader.wrong((name, "expect"), f"{name}.expect must be written as [[{name}.expect]]")
        return ()
    found = [_expectation(reader, (name, "expect", str(at)), one, of_platform) for at, one in enumerate(given)]
    return tuple(one for one in found if one is not None)


def _expectation(reader: TomlFile, path: tuple[str, ...], given: object, of_platform: bool) -> Expectation | None:
    train = path[0] == "train"
    before = len(reader.problems)
    metric = given.get("metric") if isinstance(given, dict) else None
    units = METRICS[metric].units if isinstance(metric, str) and metric in METRICS else {}
    bound: Convert = (lambda value: _bound(value, units)) if units else toml.text
    keys: dict[str, Convert] = {
        "metric": toml.word(OF_TRAIN if train else OF_PROBE),
        **({"strategy": toml.word(train_strategies.NAMES)} if train else {"op": toml.word(collectives.NAMES)}),
        **_EXPECT,
        "at_least": bound,
        "at_most": bound,
        "within": (lambda value: _range(value, units)) if units else (lambda value: value),
    }
    values = reader.table(path, given, keys)
    reader.needed(path, given, ("metric", *(_PROVENANCE if of_platform else ("source",))))
    written = [name for name in _COMPARISONS if isinstance(given, dict) and name in given]
    if len(written) != 1 and isinstance(given, dict):
        reader.wrong(path, f"{toml.dotted(path)} needs one of {', '.join(_COMPARISONS)}")
    if "date" in values and not _DATE.fullmatch(values["date"]):
        reader.wrong((*path, "date"), f"{toml.dotted(path)}.date must be 2026-05 or 2026-05-01")
    if len(reader.problems) > before:
        return None
    return _built(values, written[0], reader.line_of(path))


def _bound(value: object, units: Mapping[str, float]) -> tuple[float, str]:
    return toml.number(value, units), str(value)


def _range(value: object, units: Mapping[str, float]) -> tuple[tuple[float, str], tuple[float, str]]:
    if not isinstance(value, list) or len(value) != 2:
        raise toml.WrongValue("must be two numbers: [from, to]")
    low, high = _bound(value[0], units), _bound(value[1], units)
    if low[0] >= high[0]:
        raise toml.WrongValue("must go from the smaller number to the larger one")
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


def _platform(reader: TomlFile, file: Path) -> Platform:
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
