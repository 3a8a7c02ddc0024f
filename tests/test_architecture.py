"""The map of the package, which is the table of docs/architecture.md; and what every module must have."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.support.package import MODULES, ROOT, Module

PAGE = ROOT.parent / "docs/architecture.md"


def _map() -> dict[str, frozenset[str]]:
    """The table of docs/architecture.md: each room, from the ground up, and which rooms it may import."""
    section = PAGE.read_text().partition("## Rooms\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| ([^|]*) \|$", section, re.MULTILINE)
    assert rows
    return {room: frozenset(re.findall(r"`(\w+)`", may)) for room, may in rows}


ROOMS = _map()
MOST_AT_THE_ROOT = 24
MOST_IN_A_FOLDER = 40
LONGEST_MODULE = 400
TORCH_ONLY_IN = "worker"
HEAVY = ("torch", "numpy", "matplotlib", "plotly", "prometheus_client", "msgspec", "tabulate", "yaml")
LONGEST_FUNCTION = 45


def _of_ours(module: Module) -> set[str]:
    return {name for name in module.imports if name.split(".")[0] == "nccltool"}


def test_the_map_is_complete() -> None:
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert set(ROOMS) == folders
    assert {path.name for path in ROOT.iterdir() if path.is_file()} == {"__init__.py", "__main__.py", "py.typed"}
    assert len(folders) + 3 <= MOST_AT_THE_ROOT


def test_the_picture_has_every_room() -> None:
    drawn = re.findall(r">(\w+)</text>", (PAGE.parent / "screens/architecture.svg").read_text())
    assert set(ROOMS) - set(drawn) == set()


def test_a_room_imports_the_rooms_under_it() -> None:
    """No circle between rooms: each row of the map names rows above it only."""
    above: set[str] = set()
    for room, may in ROOMS.items():
        assert may <= above, room
        above.add(room)


def test_imports_go_downwards() -> None:
    upwards = {
        module.name: up
        for module in MODULES.values()
        if module.room in ROOMS  # not __init__ and __main__
        and (up := _rooms_of(module) - ROOMS[module.room] - {module.room, "nccltool"})
    }
    assert upwards == {}


def _rooms_of(module: Module) -> set[str]:
    return {MODULES[name].room for name in _of_ours(module)}


def test_folders_can_be_taken_in_at_a_glance() -> None:
    sizes = {folder: len([*folder.glob("*.py")]) for folder in ROOT.rglob("*") if folder.is_dir()}
    assert {folder: size for folder, size in sizes.items() if size > MOST_IN_A_FOLDER} == {}


def test_modules_are_short() -> None:
    long = {
        name.removeprefix("nccltool.")
        for name, module in MODULES.items()
        if len(module.text.splitlines()) > LONGEST_MODULE
    }
    assert long == set()


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {name: _of_ours(module) - {name} for name, module in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {error.args[1]}")


def test_only_the_worker_imports_torch() -> None:
    rooms = {
        module.room for module in MODULES.values() if "torch" in (name.split(".")[0] for name in module.imports)
    }
    assert rooms == {TORCH_ONLY_IN}


FAMILIES = (
    *(
        "probe.collectives",
        "probe.views",
        "hosts.sources",
        "doctor.rules",
        "doctor.rules.gdr",
        "doctor.rules.infiniband",
        "doctor.rules.interfaces",
        "doctor.rules.machine",
        "doctor.rules.process",
        "doctor.rules.tuning",
        "doctor.views",
        "doctor.fabrics",
        "doctor.fabric_views",
        "triage.causes",
    ),
    *(
        "launch.launchers",
        "preflight.stages",
        "preflight.views",
        "monitor.alerts",
        "monitor.exporters",
    ),
    *("interop.manifests", "train.strategies", "worker.train.strategies", "probe.plots", "cli.help_pages"),
    *("report.sections", "report.views", "attach.judge.causes"),
)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_member_of_a_family_stands_alone(family: str) -> None:
    """A collective or a format can be read, added and removed by itself."""
    folder = f"nccltool.{family}"
    members = [module for module in MODULES.values() if module.name.rpartition(".")[0] == folder]
    assert members
    for module in members:
        siblings = {name for name in _of_ours(module) if name.startswith(f"{folder}.")}
        assert siblings <= {f"{folder}.base"}, module.name


VIEWED_TOGETHER = ("compare.views", "plan.emit", "plan.views", "train.views")
TRIED_TOGETHER = (*FAMILIES, *VIEWED_TOGETHER, "triage.logs", "hosts.facts")
"""Their members are tried by tests of the family, facts where they are read."""
OF_DATA = {"errors", "events", "job", "options", "result"}
"""Modules of types, with a property or two."""


def test_a_test_file_stands_beside_each_module() -> None:
    """What runs inside ranks is tried with ranks, in tests/worker."""
    without = {
        name
        for name, module in MODULES.items()
        if module.room in ROOMS
        and module.room != TORCH_ONLY_IN
        and name.removeprefix("nccltool.").rpartition(".")[0] not in TRIED_TOGETHER
        and name.rpartition(".")[2] not in OF_DATA
        and any(isinstance(node, ast.FunctionDef) for node in module.nodes)
        and module.file.name != "__init__.py"
    }
    tests = {f"nccltool.{name}" for name in _names_of_tests()}
    assert without - tests == set()


def _names_of_tests() -> Iterator[str]:
    folder = ROOT.parent / "tests"
    for file in folder.rglob("test_*.py"):
        yield ".".join(file.relative_to(folder).with_name(file.stem.removeprefix("test_")).parts)


def test_a_name_of_a_class_has_one_meaning() -> None:
    """Only members of a family have a class of the same name: what the family asks them for."""
    places: dict[str, set[str]] = {}
    for module in MODULES.values():
        for node in module.nodes:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                family, _, member = module.name.rpartition(".")
                is_member = family.removeprefix("nccltool.") in FAMILIES and member != "base"
                places.setdefault(node.name, set()).add(family if is_member else module.name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_importing_the_command_line_imports_nothing_heavy() -> None:
    program = f"import sys, nccltool.cli; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_every_module_says_what_it_is_for() -> None:
    sentences = {
        name: (ast.get_docstring(module.tree) or "").partition("\n")[0] for name, module in MODULES.items()
    }
    assert [name for name, sentence in sentences.items() if not sentence.endswith((".", ":"))] == []


def test_functions_fit_on_half_a_screen() -> None:
    lengths = {
        (module.name, node.name): (node.end_lineno or node.lineno) - node.lineno + 1
        for module in MODULES.values()
        for node in module.nodes
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {where: length for where, length in lengths.items() if length > LONGEST_FUNCTION} == {}
