"""The fuzzer finds what it is for, and a seed is always the same input."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks import fuzz_inputs, fuzz_trial
from benchmarks.fuzz_trial import FuzzInput

from nccltool.core.errors import BadInput


def _raises() -> None:
    raise ValueError("x")


def _refuses() -> None:
    raise BadInput("x", "y")


def _hangs() -> None:
    time.sleep(60)


def _swells() -> None:
    assert bytearray(b"x") * (600 << 20)  # of the 256 MiB, what is mapped from files is taken off


def _prints_an_escape() -> None:
    print("\x1b[2J")


@pytest.mark.parametrize(
    ("act", "wrong"),
    [
        (lambda: None, ""),
        (_refuses, ""),
        (_raises, "raises ValueError: x"),
        (_hangs, "hangs"),
        (_swells, "took "),
        (_prints_an_escape, r"prints '\x1b' as it is"),
    ],
)
def test_what_is_wrong_is_found(
    act: Callable[[], None], wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fuzz_trial, "HANG_S", 2.0)
    outcome = fuzz_trial.run(FuzzInput(target="", call=act), tmp_path)
    assert outcome.wrong.startswith(wrong)
    assert bool(outcome.wrong) == bool(wrong)


def test_a_command_is_run_in_its_folder(tmp_path: Path) -> None:
    one = FuzzInput(target="", words=("import", "a.txt"), files={"a.txt": b"\x1b[2J"})
    outcome = fuzz_trial.run(one, tmp_path)
    assert (outcome.wrong, outcome.code) == ("", 2)
    assert "a.txt" in outcome.said


@pytest.mark.parametrize(
    ("files", "env", "wrong"),
    [
        ({}, {}, "prints '\\x1b' as it is"),
        ({"config/nccltool/config.toml": b'color = "always"\n'}, {}, ""),
        ({}, {"NCCLTOOL_COLOR": "always"}, ""),
    ],
)
def test_colors_that_are_asked_for_are_no_raw_characters(
    files: dict[str, bytes], env: dict[str, str], wrong: str, tmp_path: Path
) -> None:
    one = FuzzInput(target="", call=lambda: print("\x1b[1mbold\x1b[0m"), files=files, env=env)
    assert fuzz_trial.run(one, tmp_path).wrong == wrong


def test_a_seed_is_always_the_same_input() -> None:
    for seed in range(60):
        one, again = (fuzz_inputs.draw(seed) for _ in range(2))
        assert (one.target, one.words, one.files, one.env) == (again.target, again.words, again.files, again.env)


def test_each_reader_has_inputs() -> None:
    for name in fuzz_inputs.TARGETS:
        assert fuzz_inputs.draw(1, only=name).target
