"""What `nccltool checks` does with suites and platforms: list, show, copy, validate."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.text import escaped
from nccltool.core.units import format_bytes, format_seconds
from nccltool.core.user_files import contents
from nccltool.preflight import suite_folder, suite_reader
from nccltool.preflight.suite import Expectation, Platform, ProbePart, Suite


@dataclass(frozen=True, slots=True)
class Said:
    """Text for the user, and the exit code."""

    text: str
    exit_code: int = 0


def do(action: str, words: Sequence[str], force: bool) -> Said:
    """One action. Raises BadInput."""
    actions: dict[str, Callable[[Sequence[str], bool], Said]] = {
        "list": _list,
        "show": _show,
        "copy": _copy,
        "validate": _validate,
    }
    return actions[action](words, force)


def _list(words: Sequence[str], force: bool) -> Said:
    if words:
        raise BadInput("checks list takes no name", "nccltool checks show NAME")
    lines = ["suites"]
    for file in suite_folder.files():
        if file.parent.name == "platforms":
            continue
        suite = suite_reader.read(file)
        lines.append(f"  {suite.name:<24} about {format_seconds(suite.about_s):<6} {suite.title}")
    lines.append("platforms")
    for platform in suite_folder.platforms():
        numbers = len(platform.within) + len(platform.across)
        lines.append(f"  {platform.name:<24} {numbers} number{'s' if numbers != 1 else ' '}    {platform.title}")
    return Said("\n".join([*lines, f"in {suite_folder.folder()}"]) + "\n")


def _show(words: Sequence[str], force: bool) -> Said:
    if len(words) != 1:
        raise BadInput("checks show takes one name", "nccltool checks list has them")
    file = suite_folder.find(words[0], "any")
    raw = suite_reader.read_platform(file) if _is_platform(file) else suite_reader.read(file)
    lines = _of_platform(raw) if isinstance(raw, Platform) else _of_suite(raw)
    return Said("\n".join(escaped(line) for line in lines) + "\n")


def _is_platform(file: Path) -> bool:
    return b"[match]" in contents(file, "checks")


def _of_suite(suite: Suite) -> Iterator[str]:
    yield f"{suite.name}: {suite.title}, about {format_seconds(suite.about_s)}"
    yield f"  {suite.path}"
    for name in suite.stages:
        part = getattr(suite, name)
        yield name
        yield from (f"    {line}" for line in _of_part(part))
        for wanted in getattr(part, "expect", ()):
            yield from (f"    {line}" for line in _of_expectation(wanted))


def _of_part(part: object) -> Iterator[str]:
    if isinstance(part, ProbePart):
        yield f"{', '.join(part.ops)}"
        yield f"at {', '.join(map(format_bytes, part.sizes))}"
        if part.gpu_sizes:
            yield f"with GPUs at {', '.join(map(format_bytes, part.gpu_sizes))}"
        yield f"data checked {part.checks} times, {format_seconds(part.row_s)} a row"
        return
    for name in getattr(part, "__slots__", ()):
        value = getattr(part, name)
        if name != "expect" and value not in (None, ()):
            yield f"{name.replace('_', ' ')}: {', '.join(value) if isinstance(value, tuple) else value}"


def _of_platform(platform: Platform) -> Iterator[str]:
    yield f"{platform.name}: {platform.title}"
    yield f"  {platform.path}"
    match = platform.match
    wanted = {"GPU": match.gpu, "GPUs": match.gpus, "provider": match.provider, "product": match.product}
    yield "  fits hosts with " + ", ".join(
        f"{name} {value}" for name, value in wanted.items() if value not in ("", None)
    )
    for name, expected in (("within", platform.within), ("across", platform.across)):
        if expected:
            yield name
        for one in expected:
            yield from (f"    {line}" for line in _of_expectation(one))


def _of_expectation(wanted: Expectation) -> Iterator[str]:
    conditions = [wanted.backend and f"on {wanted.backend}", wanted.nodes and f"over {wanted.nodes} nodes"]
    what = [wanted.of or "each", f"at {format_bytes(wanted.size)}" if wanted.size else "", *conditions]
    kind = "" if wanted.severity == "fail" else " (warns)"
    yield f"expects {wanted.metric} {wanted.text}{kind}: {', '.join(str(word) for word in what if word)}"
    yield f"    source: {wanted.provenance}"


def _copy(words: Sequence[str], force: bool) -> Said:
    if len(words) not in (1, 2):
        raise BadInput(
            "checks copy takes a name, and a file to write", "nccltool checks copy preflight ./mine.toml"
        )
    source = suite_folder.find(words[0], "any")
    goal = Path(words[1]) if len(words) == 2 else Path(source.name)
    goal = goal / source.name if goal.is_dir() else goal
    if goal.exists() and not force:
        raise BadInput(f"{goal} is there already", "name another file, or say --force")
    try:
        goal.write_bytes(contents(source, "checks"))
    except OSError as error:
        raise BadInput(f"{goal} cannot be written: {error.strerror}", "name another file") from error
    return Said(f"{goal}\n")


def _validate(words: Sequence[str], force: bool) -> Said:
    files = [suite_folder.find(word, "any") for word in words] or list(suite_folder.files())
    found = [problem for file in files for problem in suite_reader.problems(file)]
    if found:
        return Said("".join(f"{problem}\n" for problem in found), 1)
    return Said(f"{len(files)} file{'s' if len(files) != 1 else ''}, nothing wrong\n")
