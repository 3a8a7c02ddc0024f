"""What `nccltool checks` does with suites and platforms: list, show, copy, validate."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.text import counted, escaped
from nccltool.core.units import format_bytes, format_seconds
from nccltool.core.user_files import contents
from nccltool.preflight import suite_reader
from nccltool.preflight.probe_run import ProbePart
from nccltool.preflight.suite import Expectation, Platform, Suite


def do(action: str, words: Sequence[str], force: bool) -> tuple[str, int]:
    """One action: (text for the user, exit code). Raises BadInput."""
    match action:
        case "list":
            return _list(words), 0
        case "show":
            return _show(words), 0
        case "copy":
            return _copy(words, force), 0
    return _validated(words)


def _list(words: Sequence[str]) -> str:
    if words:
        raise BadInput("checks list takes no name", "nccltool checks show NAME")
    lines = ["suites"]
    for file in suite_reader.files():
        if file.parent.name != "platforms":
            suite = suite_reader.read(file)
            lines.append(f"  {suite.name:<17} about {format_seconds(suite.about_s):<6}{suite.title}")
    lines.append("platforms")
    for platform in suite_reader.platforms():
        numbers = sum(map(len, platform.expect.values()))
        lines.append(f"  {platform.name:<17} {counted(numbers, 'number'):<12}{platform.title}")
    return "\n".join([*lines, f"in {suite_reader.folder()}"]) + "\n"


def _show(words: Sequence[str]) -> str:
    if len(words) != 1:
        raise BadInput("checks show takes one name", "nccltool checks list has them")
    file = suite_reader.find(words[0], "any")
    is_platform = b"[match]" in contents(file, "checks")
    lines = _of_platform(suite_reader.read_platform(file)) if is_platform else _of_suite(suite_reader.read(file))
    return "\n".join(escaped(line) for line in lines) + "\n"


def _of_suite(suite: Suite) -> Iterator[str]:
    yield f"{suite.name}: {suite.title}, about {format_seconds(suite.about_s)}"
    yield f"  {suite.path}"
    for name, part in suite.parts.items():
        yield name
        yield from (f"    {line}" for line in _of_part(part))
        yield from _of_expectations(getattr(part, "expect", ()))


def _of_part(part: object) -> Iterator[str]:
    if isinstance(part, ProbePart):
        yield f"{', '.join(part.ops)}"
        yield f"at {', '.join(map(format_bytes, part.sizes))}"
        if part.gpu_sizes:
            yield f"with GPUs at {', '.join(map(format_bytes, part.gpu_sizes))}"
        yield f"data checked {part.checks} times, {format_seconds(part.row_time)} a row"
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
    for name, expected in platform.expect.items():
        if expected:
            yield name
        yield from _of_expectations(expected)


def _of_expectations(expected: Iterable[Expectation]) -> Iterator[str]:
    for one in expected:
        conditions = [one.backend and f"on {one.backend}", one.nodes and f"over {one.nodes} nodes"]
        what = [one.of or "each", f"at {format_bytes(one.size)}" if one.size else "", *conditions]
        kind = "" if one.severity == "fail" else " (warns)"
        yield f"    expects {one.metric} {one.text}{kind}: {', '.join(str(word) for word in what if word)}"
        yield f"        source: {one.provenance}"


def _copy(words: Sequence[str], force: bool) -> str:
    if len(words) not in (1, 2):
        raise BadInput(
            "checks copy takes a name, and a file to write", "nccltool checks copy preflight ./mine.toml"
        )
    source = suite_reader.find(words[0], "any")
    goal = Path(words[1]) if len(words) == 2 else Path(source.name)
    goal = goal / source.name if goal.is_dir() else goal
    if goal.exists() and not force:
        raise BadInput(f"{goal} is there already", "name another file, or say --force")
    try:
        goal.write_bytes(contents(source, "checks"))
    except OSError as error:
        raise BadInput(f"{goal} cannot be written: {error.strerror}", "name another file") from error
    return f"{goal}\n"


def _validated(words: Sequence[str]) -> tuple[str, int]:
    files = [suite_reader.find(word, "any") for word in words] or list(suite_reader.files())
    found = [problem for file in files for problem in suite_reader.problems(file)]
    if found:
        return "".join(f"{problem}\n" for problem in found), 1
    return f"{len(files)} file{'s' if len(files) != 1 else ''}, nothing wrong\n", 0
