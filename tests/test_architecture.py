"""The map of the package: who may import whom, and what every module must have.

A row may import from the rows above it, and a family (a folder) from itself. Nothing else.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import nccltool
from nccltool import judge
from tests.support import codes

ROOT = Path(nccltool.__file__).parent

LAYERS = (
    # L0: nouns, errors and units
    ("nccltool", "errors", "model", "exitstyle"),
    ("units", "hostfacts", "versions", "text", "redact", "invocation", "folding"),
    ("inputs", "outputs", "wording"),
    ("grammar",),
    ("settings",),
    # L1: what varies (one file each in a folder), the stream of events, the documents, the arithmetic
    (
        "collectives",
        "launchers",
        "manifests",
        "facts",
        "events",
        "stats",
        "documents",
        "processes",
        "fit",
        "lateness",
        "nccl_tests",
        "strategies",
        "checkpoints",
        "tolerance",
        "peaks",
        "schedules",
        "trainoptions",
        "logs",
        "spread",
    ),
    # L2: what stands on one of those
    ("factlines",),
    ("adapt", "dtypes", "faults", "importers", "runs", "watch", "wires", "catalogue", "ifname", "hca", "commands"),
    ("suites", "samples"),
    ("comparing", "baselines"),
    ("oracle",),
    ("rules", "story", "flight"),
    ("causes", "picture", "alerts"),
    ("triage",),
    ("plan", "world", "limits", "snapshot", "compare_hosts", "instructions", "children", "launching", "stream"),
    ("jobs", "blame", "judge", "gather", "inventory", "doctor"),
    ("survey", "platforms", "verdicts", "checking", "subruns"),
    ("judging",),
    # L3: what does the work: the runner on this side of the pipe, the worker on the other
    ("traindrills",),
    ("explaining", "diagnosing", "reading", "trainjobs"),
    ("imports", "runner", "worker", "manifesting", "batch", "triaging", "prolog"),
    ("rungs", "sides"),
    ("preflighting",),
    ("restarts", "incoming", "aftermath"),
    ("following",),
    ("probe",),
    ("training", "tensorboard"),
    ("collect",),
    # L4: what people and programs see
    ("metrics",),
    ("render", "exporters"),
    ("exporting",),
    ("shelf",),
    ("serving", "bundling", "looping"),
    # L5: the command line
    ("cli",),
    ("__main__",),
)

ONLY = {
    "collectives": {"model", "errors"},
    "launchers": {"model", "errors"},
    "manifests": set[str](),
    "facts": {"hostfacts"},
    "rules": {
        *("hostfacts", "model", "settings", "grammar", "versions", "catalogue", "ifname", "hca", "units", "text"),
        *("oracle", "folding"),
    },
    "logs": {"errors"},
    "causes": {"logs", "model", "story"},
    "alerts": set[str](),
    "exporters": {"metrics", "errors"},
    "render": {
        *("model", "units", "documents", "nccl_tests", "hostfacts", "text", "folding", "wording", "exitstyle"),
    },
}
"""Families that may import less than the rows above them."""

NEVER = {(name, "worker") for name in ("runner", "restarts", "probe", "training", "render", "cli", "__main__")}
"""The worker is started as a process; importing it would import torch."""

TORCH_ONLY_IN = "worker"
HEAVY = ("torch", "numpy", "matplotlib", "plotly", "prometheus_client", "msgspec", "tabulate", "yaml")
LONGEST_FUNCTION = 45


@dataclass(frozen=True)
class Module:
    name: str
    tree: ast.Module

    @property
    def family(self) -> str:
        """Its row in the map: the file or folder under nccltool/."""
        return self.name.split(".")[1] if "." in self.name else self.name

    def imports(self) -> Iterator[str]:
        """Everything that is imported, also inside functions. A name that is a module counts as one."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{self.name}:{node.lineno} imports relatively"
                base = node.module or ""
                inner = [f"{base}.{alias.name}" for alias in node.names]
                modules = [name for name in inner if name in FILES]
                yield from modules
                if len(modules) < len(inner):
                    yield base


def _named(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {_named(file): file for file in sorted(ROOT.rglob("*.py"))}
MODULES = {name: Module(name, ast.parse(file.read_text())) for name, file in FILES.items()}
ROW = {family: number for number, row in enumerate(LAYERS) for family in row}


def _of_ours(module: Module) -> set[str]:
    return {name for name in module.imports() if name.split(".")[0] == "nccltool"}


def test_the_map_is_complete() -> None:
    assert sorted(ROW) == sorted({module.family for module in MODULES.values()})


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES.keys())
def test_imports_go_downwards(module: Module) -> None:
    for imported in _of_ours(module):
        family = MODULES[imported].family
        if family == module.family:
            continue
        assert ROW[family] < ROW[module.family], f"{module.name} imports {imported}"
        assert family in ONLY.get(module.family, {family, "nccltool"}), f"{module.name} imports {imported}"
        assert (module.family, family) not in NEVER, f"{module.name} imports {imported}"


def test_no_module_imports_itself_in_a_circle() -> None:
    graph = {name: _of_ours(module) - {name} for name, module in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {error.args[1]}")


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES.keys())
def test_only_the_worker_imports_torch(module: Module) -> None:
    roots = {name.split(".")[0] for name in module.imports()}
    assert module.family == TORCH_ONLY_IN or "torch" not in roots


def test_every_member_of_a_family_stands_alone() -> None:
    """A collective or a format can be read, added and removed by itself."""
    shared = {
        "nccltool.collectives",
        "nccltool.collectives.base",
        "nccltool.facts",
        "nccltool.facts.base",
        "nccltool.rules.base",
        "nccltool.launchers.base",
        "nccltool.manifests.base",
        "nccltool.rungs.base",
    }
    for module in MODULES.values():
        if (
            module.family in ("collectives", "render", "facts", "launchers", "manifests", "rules", "rungs")
            and module.name.count(".") == 2
        ):
            siblings = {name for name in _of_ours(module) if MODULES[name].family == module.family}
            assert siblings <= shared, module.name


def test_importing_the_command_line_imports_nothing_heavy() -> None:
    program = f"import sys, nccltool.cli; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES.keys())
def test_every_module_says_what_it_is_for(module: Module) -> None:
    docstring = ast.get_docstring(module.tree)
    assert docstring
    assert docstring.splitlines()[0].endswith((".", ":"))


@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES.keys())
def test_functions_fit_on_half_a_screen(module: Module) -> None:
    lengths = {
        node.name: (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(module.tree)
        if isinstance(node, ast.FunctionDef)
    }
    assert {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION} == {}


def _codes_of_errors() -> set[str]:
    """Codes of the findings of severity error that are made anywhere in the package."""
    made = [codes.made_in(file) for file in FILES.values()]
    return {code for found in made for code, severities in found.items() if "error" in severities}


def test_every_error_is_judged() -> None:
    """An error is either an answer (exit 1) or the end of the measurement (exit 3); nothing is listed in vain."""
    answers = {"wrong-data", "busbw-low", "train-wrong", "slower"}
    assert _codes_of_errors() - judge.CANNOT_TELL == answers | judge.DID_NOT_COMPLETE
