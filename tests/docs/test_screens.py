"""What people see: the commands of the pictures, played in terminals, in pipes and in poor locales."""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.draw_screens import SIZES
from tests.support.scenes import SCENES, Scene, play

QUICK = [scene for scene in SCENES if scene.name in ("doctor", "triage")]
WITH_RANKS = [scene for scene in SCENES if scene not in QUICK]
_WORD = re.compile(r"[A-Za-z]{2,}")
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ONLY_ON_SCREENS = (
    "and more; -v shows the evidence; nccltool explain CODE has details; all; of lines; characters; us ms"
)


def piped(scene: Scene, folder: Path, **env: str) -> subprocess.CompletedProcess[bytes]:
    program = Path(sys.executable).parent / "nccltool"
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    given = {"XDG_STATE_HOME": str(folder / "state"), "LC_ALL": "C.UTF-8", "CUDA_VISIBLE_DEVICES": ""}
    words = [str(program), *shlex.split(scene.words)]
    return subprocess.run(words, cwd=folder, env={**kept, **given, **scene.env, **env}, capture_output=True)


def words(text: str, folder: Path) -> set[str]:
    return set(_WORD.findall(text.replace(str(folder), "")))


def is_readable(scene: Scene, columns: int, height: int, folder: Path) -> None:
    screen = play(scene, columns, height, folder, {})
    text = "\n".join(screen.lines)
    begin = next((number for number, line in enumerate(screen.lines) if line.startswith(scene.verdict)), None)
    assert begin is not None, f"the verdict is not on the screen:\n{text}"
    plain = _ESCAPES.sub("", screen.printed).split("\n")
    lines = [part for line in plain for part in line.rstrip("\r").split("\r")]
    assert [line for line in lines if len(line) > columns and " " in line.strip()] == []
    if scene in WITH_RANKS:  # what a run finds differs from run to run
        return
    # in a pipe nothing is wrapped: a word that is not there is one that was broken here
    said = piped(scene, folder)
    whole = words((said.stdout + said.stderr).decode(), folder) | words(ONLY_ON_SCREENS, folder)
    assert words("\n".join(screen.lines[begin:]), folder) <= whole
    assert screen.code == said.returncode


@pytest.mark.parametrize("scene", QUICK, ids=str)
@pytest.mark.parametrize(("columns", "height"), SIZES)
def test_a_screen_shows_the_verdict_and_breaks_no_word(
    scene: Scene, columns: int, height: int, tmp_path: Path
) -> None:
    is_readable(scene, columns, height, tmp_path)


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("scene", WITH_RANKS, ids=str)
def test_a_screen_of_a_run_shows_the_verdict_and_breaks_no_word(scene: Scene) -> None:
    with tempfile.TemporaryDirectory() as folder:  # a short path, which is printed
        is_readable(scene, 80, 24, Path(folder))


def test_colors_are_for_terminals_that_want_them(tmp_path: Path) -> None:
    (triage,) = (scene for scene in SCENES if scene.name == "triage")
    assert "\x1b[1;31mFAIL\x1b[0m" in play(triage, 80, 24, tmp_path, {}).printed
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in play(triage, 80, 24, tmp_path, env).printed
    assert b"\x1b" not in piped(triage, tmp_path).stdout


@pytest.mark.parametrize("scene", QUICK, ids=str)
def test_a_locale_without_utf_8_gets_ascii(scene: Scene, tmp_path: Path) -> None:
    play(scene, 80, 24, tmp_path, {})  # which writes its log
    said = piped(scene, tmp_path, LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert said.stdout.isascii()
    assert b"Traceback" not in said.stderr
    assert play(scene, 80, 24, tmp_path, {"LC_ALL": "C"}).printed.isascii()
