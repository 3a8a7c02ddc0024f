"""scripts/Containerfile, without a registry to pull a base from: files are copied, and commands played here."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import nccltool

ROOT = Path(__file__).parents[2]
FILE = ROOT / "scripts/Containerfile"
SEEN = {
    "FROM": ["${BASE} AS wheel", "${BASE}"],
    "USER": ["1000"],
    "ENTRYPOINT": ['["nccltool"]'],
    "CMD": ['["--help"]'],
}


@dataclass(frozen=True)
class Step:
    """An instruction, in the stage that it is in."""

    stage: int
    word: str
    text: str


def _steps() -> Iterator[Step]:
    stage = 0
    lines = [line for line in FILE.read_text().splitlines() if not line.startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            word, _, text = line.partition(" ")
            stage += word == "FROM"
            yield Step(stage, word, text)


STEPS = list(_steps())


def test_who_runs_what() -> None:
    assert {word: [step.text for step in STEPS if step.word == word] for word in SEEN} == SEEN
    assert STEPS[0] == Step(0, "ARG", "BASE=docker.io/library/python:3.12-slim")


def test_it_asks_for_the_torch_of_the_package() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["torch"]
    asked = [word for step in STEPS if step.word == "RUN" for word in shlex.split(step.text)]
    assert set(extra) <= set(asked)
    (line,) = [step.text for step in STEPS if "--index-url" in step.text]
    assert set(extra) - set(shlex.split(line)) == {"scipy>=1.11"}  # which torch's index does not have


def test_nothing_else_is_sent_to_the_builder() -> None:
    copied = [name for step in STEPS if step.word == "COPY" for name in step.text.split()[:-1]]
    sent = [line for line in FILE.with_name(f"{FILE.name}.dockerignore").read_text().splitlines() if "!" in line]
    assert sent == [f"!{name}" for name in copied if not name.startswith(("--from", "/"))]


def test_the_bases_of_the_pages_are_those_that_it_names() -> None:
    pattern = r"BASE=(\S+?)[`\s]"
    page = (ROOT / "docs/commands/manifest.md").read_text()
    assert set(re.findall(pattern, page)) <= set(re.findall(pattern, FILE.read_text()))


@pytest.mark.install
@pytest.mark.parametrize(
    "with_torch",
    [pytest.param(True, id="a base with torch", marks=pytest.mark.slow), pytest.param(False, id="a base without")],
)
def test_its_commands_make_an_installation(with_torch: bool, tmp_path: Path) -> None:
    """Where the base has no torch, pip is asked for it from the index of the argument; here it only says so."""
    image = tmp_path / "image"
    base = _base(image, tmp_path / "log", with_torch)
    for step in STEPS:
        if step.word == "COPY":
            _copy(step.text, image)
        elif step.word == "RUN":
            _play(step, image, base)
    done = subprocess.run([base / "nccltool", "--version"], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == f"nccltool {nccltool.__version__}\n"
    said = (tmp_path / "log").read_text().splitlines()
    index = "install --no-cache-dir --index-url https://download.pytorch.org/whl/cpu torch>=2.4 numpy>=1.26"
    assert said == ([] if with_torch else [f"pip {index}"]) + ["useradd --create-home --uid 1000 nccltool"]


def _base(image: Path, log: Path, with_torch: bool) -> Path:
    """The programs of a base image: a Python with pip, beside commands that would change this machine."""
    image.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", image / "env"], check=True, timeout=60)
    programs = image / "env/bin"
    (programs / "useradd").write_text(f'#!/bin/sh\necho useradd "$@" >>{log}\n')
    (programs / "getent").write_text("#!/bin/sh\nexit 2\n")
    # pip of this environment, for the one of the base; what that has to download is here already
    (programs / "python3").unlink()
    (programs / "python3").write_text(
        "#!/bin/sh\n"
        f'case "$*" in *--index-url*) shift 2; echo pip "$@" >>{log};;\n'
        f'"-m pip "*) shift 2; exec {sys.executable} -m pip --python {programs}/python "$@" --no-deps;;\n'
        f'"-c import torch, numpy") exit {0 if with_torch else 1};;\n'
        "*) exit 99;;\nesac\n"
    )
    for name in ("useradd", "getent", "python3"):
        (programs / name).chmod(0o755)
    (site,) = image.glob("env/lib/python3*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return programs


def _copy(text: str, image: Path) -> None:
    *sources, goal = text.split()
    there = image / goal.lstrip("/")
    if sources[0].startswith("--from="):
        assert goal == "/opt/nccltool"
        shutil.copytree(image / sources[1].lstrip("/"), there)
        return
    for source in map(ROOT.joinpath, sources):
        if source.is_dir():
            shutil.copytree(source, there, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            there.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, there)


def _play(step: Step, image: Path, base: Path) -> None:
    command = re.sub(r"(?<=\s)/(src|dist|opt/nccltool)\b", rf"{image}/\1", step.text)
    arguments = [
        pair for one in STEPS if one.word == "ARG" and one.stage == step.stage for pair in one.text.split()
    ]
    env = {"PATH": f"{base}:{os.environ['PATH']}", **dict(pair.split("=", 1) for pair in arguments)}
    done = subprocess.run(["sh", "-c", command], cwd=image, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
