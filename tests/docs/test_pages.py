"""What the pages say of the program is so: commands, help, findings, variables, keys, factors, files, links."""

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest

from nccltool.attach import document as attach_document
from nccltool.cli.commands.probe import asked
from nccltool.cli.root import cli
from nccltool.core import documents, findings, statistics
from nccltool.doctor import diagnosis
from nccltool.launch import fault_injection
from nccltool.localize import result as localize_result
from nccltool.monitor import run_list
from nccltool.preflight import document as preflight_document
from nccltool.preflight import result as preflight_result
from nccltool.probe import collectives, dtypes, result, views
from nccltool.probe import options as probe_options
from nccltool.trace import communicators as trace_communicators
from nccltool.trace import document as trace_document
from nccltool.trace import result as trace_result
from nccltool.train import result as train_result
from nccltool.train import strategies
from nccltool.triage import incident
from tests.conftest import Nccltool
from tests.docs.pages import PAGES, README, ROOT, Command, commands, hold
from tests.support import finding_kinds as findings_support

DOCS = ROOT / "docs"
OF_US = [command for page in PAGES for command in commands(page)]
CALLS = [command for command in OF_US if command.words_of_nccltool() is not None]
SCRIPTS = sorted({command.program for command in OF_US if command.program.startswith(("scripts/", ".ci/"))})

OF_LAUNCHERS = {
    "torchrun": {"RANK": "0", "WORLD_SIZE": "16", "LOCAL_RANK": "0", "MASTER_ADDR": "n1", "MASTER_PORT": "1"},
    "srun": {
        "SLURM_STEP_ID": "0",
        "SLURM_PROCID": "0",
        "SLURM_STEP_NUM_TASKS": "16",
        "SLURM_STEP_NODELIST": "n[1-2]",
    },
    "mpirun": {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "16"},
}
"""What a rank sees that they started."""

ADDED = set(
    re.findall(r"^<!-- file: nccltool/\S*/(\w+)\.py -->$", (DOCS / "extending.md").read_text(), re.MULTILINE)
)
"""Members that the examples of the guide add to folders."""


def _title(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _options() -> Iterator[tuple[str, click.Option]]:
    for name, command in sorted(cli.commands.items()):
        parts = command.commands.values() if isinstance(command, click.Group) else ()
        every = [parameter for each in (command, *parts) for parameter in each.params]
        yield from ((name, option) for option in every if isinstance(option, click.Option))


TWINS = {str(option.envvar) for _, option in _options() if option.envvar} | {"NCCLTOOL_NO_CONFIG"}


@pytest.mark.parametrize("command", CALLS, ids=str)
def test_every_command_in_the_pages_is_understood(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "shutil.which", lambda name, **_: f"/usr/bin/{name}"
    )  # where these tests run may be no ssh
    monkeypatch.setattr("nccltool.launch.run_secret.read", lambda file: "")  # nor is there such a file
    words = list(command.words_of_nccltool() or ())
    if ADDED.intersection(words):  # known in a copy only; test_extending.py plays it
        return
    if not words or words[0].startswith("-"):
        assert words in ([], ["--help"], ["--version"], ["-V"])
        return
    subcommand = cli.commands[words[0]]
    if "--help" in words:
        assert words[1:] == ["--help"]
        return
    # a command keeps the names of its help option that its first context gave it
    above = click.Context(cli, **cli.context_settings)
    options = subcommand.make_context(words[0], words[1:], parent=above).params
    if words[0] == "probe":
        probe_options.from_options(asked(options), command.env | OF_LAUNCHERS.get(command.program, {}))


@pytest.mark.parametrize("command", [call for call in OF_US if call.env], ids=str)
def test_every_variable_in_front_of_a_command_is_known(command: Command) -> None:
    ours = {name for name in command.env if name.startswith("NCCLTOOL_")}
    assert ours <= {*TWINS, fault_injection.VARIABLE, "NCCLTOOL_PYTHON"}


def test_every_script_in_the_pages_is_there() -> None:
    missing = [name for name in SCRIPTS if not (ROOT / name).stat().st_mode & 0o111]
    assert SCRIPTS
    assert missing == []


def test_the_readme_begins_with_the_two_commands() -> None:
    ours = [command.argv for command in commands(README) if command.program.startswith("scripts/")]
    assert ours[:2] == [("scripts/nccltool", "probe", "--nodes", "2"), ("scripts/test",)]


@pytest.mark.parametrize("name", ["", *sorted(cli.commands)])
def test_help_stands_in_the_pages_as_it_is_printed(name: str, nccltool: Nccltool) -> None:
    page = DOCS / "commands" / f"{name or 'README'}.md"
    words = [*name.split(), "--help"]
    said = nccltool(*words)
    assert (said.code, said.err) == (0, "")
    hold(page, f"```console\n$ nccltool {' '.join(words)}\n", "```\n", said.out)


@pytest.mark.parametrize("name", sorted(cli.commands))
def test_a_page_explains_options_that_there_are(name: str) -> None:
    """All of them are in the block of its help; tables have those of which there is more to say."""
    page = (DOCS / "commands" / f"{name}.md").read_text()
    explained = set(re.findall(r"^\| `(?:-\w`, `)?(--[\w-]+)", page, re.MULTILINE))
    assert explained <= {max(option.opts, key=len) for command, option in _options() if command == name}


CODES = {kind.code: kind for kind in findings_support.every_kind()}
_HEADING = re.compile(r"^### `([\w-]+)`\n\n([^\n]+)\n\n(.+?)(?=^#|\Z)", re.MULTILINE | re.DOTALL)
SECTIONS = {
    code: (facts, text)
    for page in findings.MANUAL_PAGES
    for code, facts, text in _HEADING.findall((DOCS / page).read_text())
}


def test_every_finding_has_its_section() -> None:
    assert sorted(SECTIONS) == sorted(CODES)


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_section_says_how_bad_it_is_and_what_to_do(code: str) -> None:
    facts, text = SECTIONS[code]
    severities = [severity for severity in ("error", "warning", "info") if severity in facts]
    assert set(severities) == set(CODES[code].severities)
    exits = {"answer": ["exit 1"], "incomplete": ["exit 3"], "unknown": ["exit 4"], "note": []}
    assert re.findall(r"exit \d+", facts) == exits[CODES[code].effect]
    assert "**What to do.**" in text


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_finding_names_its_section(code: str) -> None:
    subject = findings.Subject(kind="run", name="r")
    page = findings.Finding(code=code, severity="error", subject=subject, message="m").page
    assert page == f"docs/{CODES[code].page}#{code}"
    assert f"\n### `{page.partition('#')[2]}`\n" in (ROOT / page.partition("#")[0]).read_text()


def test_every_variable_has_its_row() -> None:
    page = (DOCS / "environment.md").read_text()
    rows = set(re.findall(r"^\| `(NCCLTOOL_\w+)`", page, re.MULTILINE))
    assert rows == {"NCCLTOOL_NO_CONFIG", fault_injection.VARIABLE, "NCCLTOOL_PYTHON"}


JSON_PAGES = ("json.md", "json-train.md", "json-checks.md", "json-pairs.md", "json-attach.md")


def _keys(heading: str) -> list[str]:
    pages = "\n## \n".join((DOCS / name).read_text() for name in JSON_PAGES)
    section = pages.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


@pytest.mark.parametrize(
    ("heading", "noun"),
    [
        ("`run`", documents.RunInfo),
        ("`findings[]`", findings.Finding),
        ("`findings[].subject`", findings.Subject),
        ("`measurements[]`", result.Measurement),
        ("`measurements[].time_s`", statistics.Stats),
        ("`models[]`", result.LatencyModel),
        ("`trainings[]`", train_result.TrainingResult),
        ("`trainings[].model`", train_result.ModelShape),
        ("`trainings[].steps[]`", train_result.TrainStep),
        ("`trainings[].oracle`", train_result.Oracle),
        ("`trainings[].bubble`", train_result.Bubble),
        ("`trainings[].checkpoint`", train_result.Checkpointing),
        ("`restarts[]`", train_result.Restart),
        ("`runs[]`", run_list.Entry),
        ("`outcomes[]`", diagnosis.RuleOutcome),
        ("`settings[]`", diagnosis.Assignment),
        ("`preflight.outcomes[]`", preflight_document.OutcomeRow),
        ("`preflight.hosts[]`", preflight_result.HostVerdict),
        ("`first_failure`", incident.LogLine),
        ("`candidates[]`", incident.Candidate),
        ("`suspects[]`", localize_result.Suspect),
        ("`next_tests[]`", localize_result.NextTest),
        ("`attach.ranks[]`", attach_document.AttachedRank),
        ("`attach.culprits[]`", attach_document.AttachedCulprit),
        ("`trace.ranks[]`", trace_document.TracedRank),
        ("`trace.arrivals[]`", trace_result.StepArrivals),
        ("`trace.communicators[]`", trace_communicators.CommunicatorUse),
    ],
    ids=str,
)
def test_every_key_has_its_row(heading: str, noun: type) -> None:
    names = [*noun.__struct_fields__] if issubclass(noun, msgspec.Struct) else None
    assert _keys(heading) == (names or [field.name for field in dataclasses.fields(noun)])


def test_every_key_of_attach_has_its_row() -> None:
    shared = documents.RunDocument.__struct_fields__
    assert _keys("`attach`") == [
        name for name in attach_document.AttachDocument.__struct_fields__ if name not in shared
    ]


def test_every_key_of_trace_has_its_row() -> None:
    shared = documents.RunDocument.__struct_fields__
    assert _keys("`trace`") == [
        name for name in trace_document.TraceDocument.__struct_fields__ if name not in shared
    ]


_FACTOR = re.compile(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", re.MULTILINE)


def test_the_factors_are_those_of_the_code() -> None:
    section = (DOCS / "concepts.md").read_text().partition("## The factors\n")[2].partition("\n## ")[0]
    written = {op: text.strip() for op, text in _FACTOR.findall(section)}
    assert list(written) == list(collectives.NAMES)
    for op, text in written.items():
        for n in (1, 2, 3, 8):
            formulas = {"1": 1.0, "(n-1)/n": (n - 1) / n, "2(n-1)/n": 2 * (n - 1) / n}
            assert formulas[text] == collectives.get(op).bus_factor(n)


def test_every_word_of_a_choice_stands_on_the_page_of_probe() -> None:
    page = (DOCS / "commands/probe.md").read_text().partition("## Options that need more words")[2]
    words = {*collectives.NAMES, *dtypes.ELEMENT_SIZE, *dtypes.REDUCE_OPS, *views.FORMATS}
    assert {word for word in words if not re.search(rf"\b{word}\b", page)} == set()


def test_every_strategy_has_its_row() -> None:
    table = (DOCS / "strategies.md").read_text().partition("\n## Strategies\n")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| `(\S+)` \|", table, re.MULTILINE)) == list(strategies.WORDS)


def test_the_tree_names_every_module() -> None:
    files = sorted((ROOT / "nccltool").rglob("*.py"), key=lambda file: (file.parent.parts, file.name))
    hold(DOCS / "files.md", "```text\nnccltool/\n", "```\n", "".join(_tree_lines(files)))


def _tree_lines(files: list[Path]) -> Iterator[str]:
    folder = ROOT / "nccltool"
    for file in files:
        depth = len(file.relative_to(ROOT / "nccltool").parts)
        if file.parent != folder:
            folder = file.parent
            yield f"{'  ' * (depth - 1)}{folder.name}/\n"
        first = (ast.get_docstring(ast.parse(file.read_text())) or "").split("\n\n")[0]
        text = " ".join(first.split()).removesuffix(".")
        yield f"{'  ' * depth}{file.name:<{24 - 2 * depth}} {text}\n"


_LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]*)(#[\w-]+)?\)")
_IMAGE = re.compile(r'\b(?:src|srcset)="([^"]*)"')


@pytest.mark.parametrize("page", PAGES, ids=_title)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, anchor in _LINK.findall(page.read_text()):
        if "://" in target:
            continue
        file = (page.parent / target).resolve() if target else page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)
            assert anchor[1:] in [_anchor(heading) for heading in headings], target + anchor


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=_title)
def test_every_picture_exists(page: Path) -> None:
    missing = [file for file in _IMAGE.findall(page.read_text()) if not (page.parent / file).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=_title)
def test_every_block_of_a_page_is_closed(page: Path) -> None:
    fences = re.findall(r"^ *```.*$", page.read_text(), re.MULTILINE)
    assert [fence.strip() for fence in fences[1::2]] == ["```"] * (len(fences) // 2)
    assert len(fences) % 2 == 0


@pytest.mark.parametrize("page", PAGES, ids=_title)
def test_no_page_names_a_place_of_its_writer(page: Path) -> None:
    assert re.findall(r"/root/|/home/\w+/", page.read_text()) == []
