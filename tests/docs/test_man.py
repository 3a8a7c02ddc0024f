"""Man pages are the help of now, and man reads them without a warning."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from nccltool.cli.root import cli
from nccltool.cli.tree import leaves
from tests.docs.pages import ROOT


def _generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("man_pages", ROOT / "scripts/man_pages.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


MAN = _generator()
PAGES = sorted((ROOT / "docs/man").glob("*.1"))


def test_they_are_the_help_of_now() -> None:
    if os.environ.get("UPDATE_GOLDEN"):
        MAN.write()
    assert MAN.differing() == [], "UPDATE_GOLDEN=1 pytest tests/docs/test_man.py writes them"


def test_each_command_has_one() -> None:
    names = {"-".join(("nccltool", *path)) for path, _ in leaves(cli)} | {"nccltool"}
    assert {page.stem for page in PAGES} == names


@pytest.mark.skipif(not shutil.which("man") or not shutil.which("groff"), reason="man is not installed")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_man_reads_it_without_a_warning(page: Path) -> None:
    env = {**os.environ, "MANWIDTH": "90", "LC_ALL": "C.UTF-8"}
    argv = ["man", "--warnings", "-l", "-P", "cat", str(page)]
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "SYNOPSIS" in done.stdout
    strict = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-z", str(page)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (strict.returncode, strict.stderr) == (0, "")


def test_the_text_is_the_help() -> None:
    """What roff reads as its own is escaped: a page has every line of the help."""
    if not shutil.which("groff"):
        pytest.skip("groff is not installed")
    page = ROOT / "docs/man/nccltool-probe.1"
    argv = ["groff", "-man", "-Tascii", "-P-cbou", "-rLL=90n", str(page)]
    shown = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True).stdout
    for line in ("-b, --min-bytes SIZE", "--nproc-per-node N|auto", "[default: 1KiB]", "n[01-04],user@x3:2222"):
        assert line in shown
