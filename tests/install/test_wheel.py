"""The wheel: what is in it, and that it works where it is installed."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import nccltool
from tests.support.explained import pages_read

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.install


def _run(*argv: str | Path, cwd: Path, **env: str) -> str:
    """Standard output of a command that must succeed."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")} | env
    done = subprocess.run(argv, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module", params=["the checkout", "the sdist"])
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the checkout, and the one built from the sdist as an index would."""
    out = tmp_path_factory.mktemp("dist")
    source = ROOT
    if request.param == "the sdist":
        _run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", out, cwd=ROOT)
        (archive,) = out.glob("*.tar.gz")
        _run("tar", "-xf", archive, "-C", out, cwd=out)
        source = archive.with_name(archive.name.removesuffix(".tar.gz"))
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", out, cwd=source)
    (built,) = out.glob("*.whl")
    return built


def _files(folder: str) -> Iterator[str]:
    for path in (ROOT / folder).rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(path.relative_to(ROOT))


def test_it_holds_the_package_the_checks_the_pages_of_explain_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    about = f"nccltool-{nccltool.__version__}.dist-info"
    assert names == {
        *_files("nccltool"),
        *(f"nccltool/{name}" for name in _files("checks")),
        *(f"nccltool/docs/{name}" for name in pages_read()),
        *(
            f"nccltool-{nccltool.__version__}.data/data/share/man/man1/{Path(name).name}"
            for name in _files("docs/man")
        ),
        *(f"{about}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")),
    }
    assert {"nccltool/py.typed", "nccltool/checks/README.md"} <= names


@pytest.mark.quick
def test_its_metadata_say_how_to_start_it_and_what_it_needs(wheel: Path) -> None:
    about = f"nccltool-{nccltool.__version__}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(f"{about}/entry_points.txt").decode() == (
            "[console_scripts]\nnccltool = nccltool.cli:main\n"
        )
        metadata = archive.read(f"{about}/METADATA").decode().splitlines()
    assert "Requires-Python: >=3.11" in metadata
    assert "License-Expression: Apache-2.0" in metadata
    assert "# nccltool" in metadata  # the README


def test_it_works_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    env = tmp_path / "env"
    _run(sys.executable, "-m", "venv", "--without-pip", env, cwd=tmp_path)
    program = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    site = Path(_run(env / "bin/python", "-c", program, cwd=tmp_path).strip())
    _run(
        *(sys.executable, "-m", "pip", "--python", env / "bin/python", "install"),
        *("--quiet", "--no-index", "--no-deps", wheel),
        cwd=tmp_path,
    )
    # what it depends on, torch too, from the environment that runs this test: nothing to download
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    command = env / "bin/nccltool"
    assert _run(command, "--version", cwd=tmp_path) == f"nccltool {nccltool.__version__}\n"
    assert _run(command, "--help", cwd=tmp_path).startswith("Usage: nccltool [OPTIONS] COMMAND [ARGS]...\n")
    program = "import nccltool; print(nccltool.__path__[0])"
    assert _run(env / "bin/python", "-c", program, cwd=tmp_path) == f"{site / 'nccltool'}\n"
    assert (site / "nccltool/checks/README.md").read_text() == (ROOT / "checks/README.md").read_text()
    assert _run(command, "explain", "rank died", cwd=tmp_path).startswith("rank-died (finding)\n")
    assert _run(command, "runs", cwd=tmp_path, XDG_STATE_HOME=str(tmp_path)) == "no runs yet\n"
    assert _run(command, "checks", "list", cwd=tmp_path).endswith(f"in {site / 'nccltool/checks'}\n")
    assert _run(command, "checks", "validate", cwd=tmp_path).endswith(" files, no mistakes\n")
