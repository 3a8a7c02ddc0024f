"""Plug-ins of other packages: what is found, and that a broken one costs only itself."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nccltool.core import members, plugin_list, plugins
from nccltool.core.errors import BadInput
from nccltool.core.plugins import ToolPlugin

GOOD = "NCCLTOOL_PLUGIN = 1\nDestination = 'mine'\n"
Install = Callable[..., None]
ONE = ToolPlugin(family="rules", name="one", module="pkg_one", package="pkg", version="1.2")


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Installs a package: `install("pkg", group="point = module", module="source")`."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "_failures", {})

    def put(package: str, points: str, **sources: str) -> None:
        info = tmp_path / f"{package}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(points)
        for module, source in sources.items():
            (tmp_path / f"{module}.py").write_text(source)

    forget()
    yield put
    forget()
    for name in [name for name in sys.modules if name.startswith("pkg_")]:
        del sys.modules[name]


def forget() -> None:
    plugins.installed.cache_clear()
    plugins.load.cache_clear()


def told() -> list[str]:
    return [f"{failure.plugin.title}: {failure.reason}" for failure in plugins.failures()]


def test_a_plug_in_is_a_member_of_its_family(install: Install, tmp_path: Path) -> None:
    install("pkg", "[nccltool.exporters]\nmy_op = pkg_op\n", pkg_op=GOOD)
    own = tmp_path / "own"
    own.mkdir()
    (own / "theirs.py").touch()
    assert members.names([str(own)]) == ("theirs",)
    assert members.names([str(own)], family="exporters") == ("theirs", "my-op")
    module = members.module("nccltool.monitor.exporters", "my-op", family="exporters")
    assert module.Destination == "mine"
    assert plugins.origin(module) == plugins.installed("exporters")[0]
    assert plugins.origin(plugins) is None
    assert told() == []


@pytest.mark.parametrize(
    ("points", "source", "reason"),
    [
        (
            "my = pkg_op",
            "import nothing_of_that_name",
            "ModuleNotFoundError: No module named 'nothing_of_that_name'",
        ),
        ("my = pkg_op", "raise SystemExit(3)", "SystemExit: 3"),
        ("my = pkg_op", "1 +", "SyntaxError: invalid syntax (pkg_op.py, line 1)"),
        ("my = pkg_op", "", "pkg_op does not set NCCLTOOL_PLUGIN; this nccltool has interface 1"),
        (
            "my = pkg_op",
            "NCCLTOOL_PLUGIN = 2",
            "pkg_op sets NCCLTOOL_PLUGIN = 2; this nccltool has interface 1",
        ),
        ("my = pkg_op", "NCCLTOOL_PLUGIN = 1", "pkg_op lacks Destination"),
        ("My Op = pkg_op", GOOD, "its entry point is not NAME = MODULE, with a name in lowercase"),
        ("my = pkg_op:Destination", GOOD, "its entry point is not NAME = MODULE, with a name in lowercase"),
        ("taken = pkg_op", GOOD, "nccltool has one of the same name"),
    ],
)
def test_one_that_cannot_be_used_is_named_and_left_out(
    install: Install, points: str, source: str, reason: str
) -> None:
    install("pkg", f"[nccltool.exporters]\n{points}\n", pkg_op=source)
    assert plugins.usable("exporters", ("taken",)) == {}
    (said,) = told()
    assert said.startswith("plug-in ")
    assert said.endswith(f"(exporters of pkg 1.2): {reason}")


def test_what_a_member_has_is_of_the_kind_that_its_family_needs(install: Install) -> None:
    install("pkg", "[nccltool.exporters]\nmy-op = pkg_op\n", pkg_op=GOOD)
    (module,) = plugins.usable("exporters").values()
    assert plugins.has(module, "Destination", str)
    assert not plugins.has(module, "Destination", int)
    assert told() == ["plug-in my-op (exporters of pkg 1.2): pkg_op.Destination is no int"]


def test_a_name_belongs_to_one_package(install: Install) -> None:
    install("pkg_a", "[nccltool.exporters]\nmy-op = pkg_a\n", pkg_a=GOOD)
    install("pkg_b", "[nccltool.exporters]\nmy_op = pkg_b\n", pkg_b=GOOD)
    assert list(plugins.usable("exporters")) == ["my-op"]
    (said,) = told()
    assert said.endswith(" has a plug-in of the same name")


def test_a_defect_of_a_function_costs_what_it_would_have_said(install: Install) -> None:
    def broken(word: str) -> str:
        raise ZeroDivisionError(f"no\n{word}")

    assert plugins.guarded(ONE, broken, lambda why: why)("way") == (
        "plug-in one (rules of pkg 1.2) failed: ZeroDivisionError: no way"
    )
    assert plugins.guarded(ONE, str.upper, lambda why: why)("fine") == "FINE"
    assert told() == ["plug-in one (rules of pkg 1.2): ZeroDivisionError: no way"]


@pytest.mark.parametrize("raised", [ZeroDivisionError("no\nway"), SystemExit("no way")])
def test_a_defect_whose_cost_the_caller_knows(install: Install, raised: BaseException) -> None:
    def broken() -> None:
        raise raised

    said = f"plug-in one (rules of pkg 1.2) failed: {type(raised).__name__}: no way"
    with pytest.raises(plugins.PluginFailed) as caught:
        plugins.strict(ONE, broken)()
    assert (caught.value.message, caught.value.exit_code, caught.value.__cause__) == (said, 3, raised)
    assert plugins.guarded(ONE, broken, lambda why: why)() == said
    assert plugins.strict(ONE, str.upper)("fine") == "FINE"


def test_what_a_plug_in_says_of_the_users_input_passes() -> None:
    def refuse() -> None:
        raise BadInput("F is not mine")

    with pytest.raises(BadInput, match="F is not mine"):
        plugins.guarded(ONE, refuse, lambda why: None)()


def test_the_list(install: Install) -> None:
    install("pkg", "[nccltool.exporters]\nmy_op = pkg_op\nbad = pkg_bad\n", pkg_op=GOOD, pkg_bad="\x1b")
    text = plugin_list.to_text(plugin_list.every())
    assert text.splitlines() == [
        "exporters   bad                 pkg 1.2",
        "    not used: SyntaxError: invalid non-printable character U+001B (pkg_bad.py, line 1)",
        "exporters   my-op               pkg 1.2",
    ]


def test_the_list_without_any(install: Install) -> None:
    assert plugin_list.to_text(plugin_list.every()) == "no plug-ins are installed\n"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("pkg_nowhere.suites", "ModuleNotFoundError: No module named 'pkg_nowhere'"),
        ("pkg_op", "there is no package"),
    ],
)
def test_a_folder_of_data_that_is_not_there(install: Install, value: str, reason: str) -> None:
    install("pkg", f"[nccltool.suites]\nmine = {value}\n", pkg_op="")
    assert plugins.folder(plugins.installed("suites")[0]) is None
    assert reason in told()[0]
