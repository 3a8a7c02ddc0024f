"""What `nccltool checks` does with suites and platforms: list, show, copy, validate."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nccltool.core import written_files
from nccltool.core.documents import headed
from nccltool.core.errors import BadInput
from nccltool.core.text import counted, escaped
from nccltool.core.units import format_bytes, format_seconds
from nccltool.core.user_files import contents
from nccltool.preflight import suite_reader
from nccltool.preflight.probe_run import ProbePart
from nccltool.preflight.suite import Expectation, Platform, Suite


@dataclass(frozen=True, kw_only=True, slots=True)
class ChecksAnswer:
    """What an action has to say, for people and for programs."""

    lines: Sequence[str]
    document: str
    exit_code: int = 0


def do(action: str, words: Sequence[str], force: bool) -> ChecksAnswer:
    """One action. Raises BadInput."""
    match action:
        case "list":
            return _list(words)
        case "show":
            return _show(words)
        case "copy":
            return _copy(words, force)
    return _validated(words)


def _list(words: Sequence[str]) -> ChecksAnswer:
    if words:
        raise BadInput("checks list takes no name", "nccltool checks show NAME")
    suites = [suite_reader.read(file) for file in suite_reader.files() if file.parent.name != "platforms"]
    platforms = suite_reader.platforms()
    lines = [
        "suites",
        *(f"  {one.name:<17} about {format_seconds(one.about_s):<6}{one.title}" for one in suites),
        "platforms",
        *(f"  {one.name:<17} {counted(_numbers(one), 'number'):<12}{one.title}" for one in platforms),
        f"in {suite_reader.folder()}",
    ]
    return ChecksAnswer(lines=lines, document=_list_document(suites, platforms))


def _list_document(suites: Sequence[Suite], platforms: Sequence[Platform]) -> str:
    return headed(
        "checks",
        folder=str(suite_reader.folder()),
        suites=[{name: getattr(one, name) for name in ("name", "title", "about_s", "path")} for one in suites],
        platforms=[
            {"name": one.name, "title": one.title, "numbers": _numbers(one), "path": one.path} for one in platforms
        ],
    )


def _numbers(platform: Platform) -> int:
    return sum(map(len, platform.expect.values()))


def _show(words: Sequence[str]) -> ChecksAnswer:
    if len(words) != 1:
        raise BadInput("checks show takes one name", "nccltool checks list shows the names")
    file = suite_reader.find(words[0], "any")
    if b"[match]" in contents(file, "checks"):
        platform = suite_reader.read_platform(file)
        lines, document = _of_platform(platform), headed("platform", platform=platform)
    else:
        suite = suite_reader.read(file)
        lines, document = _of_suite(suite), headed("suite", suite=suite)
    return ChecksAnswer(lines=[escaped(line) for line in lines], document=document)


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
        yield f"data checked {part.checks} times, {format_seconds(part.row_time)} per row"
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
    yield "  matches hosts with " + ", ".join(
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


def _copy(words: Sequence[str], force: bool) -> ChecksAnswer:
    if len(words) not in (1, 2):
        raise BadInput(
            "checks copy takes the name of a suite and a file to write",
            "nccltool checks copy preflight ./mine.toml",
        )
    source = suite_reader.find(words[0], "any")
    goal = Path(words[1]) if len(words) == 2 else Path(source.name)
    goal = goal / source.name if goal.is_dir() else goal
    if goal.exists() and not force:
        raise BadInput(f"{goal} already exists", "name another file or use --force")
    try:
        written_files.put(goal, contents(source, "checks"))
    except OSError as error:
        raise BadInput(f"{goal} cannot be written: {error.strerror}", "name another file") from error
    return ChecksAnswer(lines=[str(goal)], document=headed("copied-checks", file=str(goal)))


def _validated(words: Sequence[str]) -> ChecksAnswer:
    files = [suite_reader.find(word, "any") for word in words] or list(suite_reader.files())
    found = [problem for file in files for problem in suite_reader.problems(file)]
    exit_code = 1 if found else 0
    document = headed(
        "validated-checks",
        status="fail" if found else "pass",
        exit_code=exit_code,
        files=[str(file) for file in files],
        problems=found,
    )
    lines = found or [f"{counted(len(files), 'file')}, no mistakes"]
    return ChecksAnswer(lines=lines, document=document, exit_code=exit_code)
