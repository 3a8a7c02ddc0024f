"""What callers give: wrong types end in one sentence about the parameter, before anything runs."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nccltool import api
from nccltool.api import arguments
from nccltool.core.errors import BadInput

NAN = float("nan")
WRONG: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (api.probe, {"ops": 3}, "ops must be a list of str, not 3 (int)"),
    (api.probe, {"ops": ["nope"]}, "ops: unknown operation 'nope'"),
    (api.probe, {"ops": [1.5]}, "ops must be a str or a path, not 1.5 (float)"),
    (api.probe, {"sizes": ["x"]}, "sizes: 'x' is not a size"),
    (api.probe, {"dtype": "x"}, "dtype: unknown type 'x'"),
    (api.probe, {"dtype": None}, "dtype must be a str or a path, not None (NoneType)"),
    (api.probe, {"reduce_op": "x"}, "reduce_op: unknown reduction 'x'"),
    (
        api.probe,
        {"placement": "x"},
        "placement must be one of natural, in-place, out-of-place, both, not 'x' (str)",
    ),
    (api.probe, {"checks": "x"}, "checks must be a whole number of at least 0, not 'x' (str)"),
    (api.probe, {"iterations": 0}, "iterations must be a whole number of at least 1, not 0 (int)"),
    (api.probe, {"nodes": "2"}, "nodes must be a whole number of at least 1, not '2' (str)"),
    (api.probe, {"nodes": -1}, "nodes must be a whole number of at least 1, not -1 (int)"),
    (api.probe, {"nproc_per_node": True}, "nproc_per_node must be a whole number of at least 1, not True (bool)"),
    (api.probe, {"hosts": "["}, "hosts '[': the brackets do not match"),
    (api.probe, {"hosts": [3]}, "hosts must be a str or a path, not 3 (int)"),
    (api.probe, {"launcher": "ssh"}, "launcher ssh needs hosts"),
    (api.probe, {"launcher": "pbs"}, "launcher pbs was requested outside a job"),
    (api.probe, {"backend": "x"}, "backend must be one of auto, gloo, nccl, not 'x' (str)"),
    (api.probe, {"timeout_s": "x"}, "timeout_s must be a number of at least 0.001, not 'x' (str)"),
    (api.probe, {"timeout_s": -1}, "timeout_s must be a number of at least 0.001, not -1 (int)"),
    (api.probe, {"deadline_s": NAN}, "deadline_s must be a number of at least 0.001, not nan (float)"),
    (api.probe, {"min_busbw_gb_per_s": "x"}, "min_busbw_gb_per_s must be a number of at least 0.001"),
    (api.probe, {"run_dir": 3}, "run_dir must be a str or a path, not 3 (int)"),
    (api.doctor, {"env_files": "nope"}, "env_files nope cannot be read: No such file or directory"),
    (api.doctor, {"env_files": [3]}, "env_files must be a str or a path, not 3 (int)"),
    (api.doctor, {"facts": {"a": 1}}, "facts must be a list of str, not {'a': 1} (dict)"),
    (api.doctor, {"root": 3}, "root must be a str or a path, not 3 (int)"),
    (api.doctor, {"root": "/nope"}, "root /nope contains neither proc nor sys"),
    (api.doctor, {"select": "NOPE"}, "select: no rule begins with 'NOPE'"),
    (api.doctor, {"nccl_version": 2}, "nccl_version must be a str or a path, not 2 (int)"),
    (api.doctor, {"nodes": 0}, "nodes must be a whole number of at least 1, not 0 (int)"),
    (api.compare, {"a": 1, "b": "b"}, "a must be a str or a path, not 1 (int)"),
    (api.compare, {"a": "a", "b": None}, "b must be a str or a path, not None (NoneType)"),
    (api.compare, {"a": "a", "b": "b", "margin_percent": "x"}, "margin_percent must be a number of at least 0"),
    (api.compare, {"a": "a", "b": "b", "alpha": 3}, "alpha must be a number of at least 0.0001 and at most 0.2"),
    (api.compare, {"a": "a", "b": "b", "ignore": "x"}, "ignore: 'x' is not a key"),
    (api.load_run, {"run": ""}, "run must be a str or a path that is not empty, not '' (str)"),
    (api.load_run, {"run": 3}, "run must be a str or a path, not 3 (int)"),
    (api.load_run, {"run": "lates"}, "unknown run 'lates'"),
    (api.load_run, {"run": "latest"}, "no runs under"),
    (api.to_pandas, {"result": "x"}, "result must be what a function of nccltool.api returns, not str"),
    (api.checked_groups, {"timeout_s": "x"}, "timeout_s must be a number of at least 0.001, not 'x' (str)"),
    (api.check, {"timeout_s": "x"}, "timeout_s must be a number of at least 0.001, not 'x' (str)"),
]


@pytest.mark.parametrize(
    ("function", "given", "message"), WRONG, ids=[f"{one.__name__}-{list(given)[-1]}" for one, given, _ in WRONG]
)
def test_a_wrong_argument_is_named_in_the_words_of_the_function(
    function: Callable[..., Any],
    given: dict[str, Any],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in [name for name in os.environ if name.startswith(("NCCLTOOL_", "SLURM_", "PBS_", "LSB_", "FLUX_"))]:
        monkeypatch.delenv(name)
    with pytest.raises(BadInput) as raised:
        function(**given)
    error = raised.value
    assert error.message.startswith(message)
    assert str(error) == error.message
    assert error.remedy or function is api.to_pandas
    assert "--" not in error.message + error.remedy


@pytest.mark.parametrize("path", [3, None, ["a"], ""])
def test_triage_of_what_is_no_path(path: Any) -> None:
    with pytest.raises(BadInput, match=r"^paths must be a str or a path"):
        api.triage(path)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("all_reduce", ("all_reduce",)),
        ("all_reduce,broadcast", ("all_reduce", "broadcast")),
        (["a", "b"], ("a", "b")),
        ((1024, "1MiB"), ("1024", "1MiB")),
        ((one for one in "ab"), ("a", "b")),
    ],
)
def test_words(value: Any, found: tuple[str, ...]) -> None:
    assert arguments.words("ops", value) == found


def test_paths() -> None:
    assert arguments.texts("facts", Path("a")) == ("a",)
    assert arguments.texts("facts", [Path("a"), "b,c"]) == ("a", "b,c")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("--min-busbw and --nproc-per-node", "min_busbw_gb_per_s and nproc_per_node"),
        ("use another folder: --run-dir", "use another folder: run_dir"),
        ("--rdzv-endpoint n1", "the option rdzv-endpoint of the command n1"),
        ("n1 -- n2", "n1 -- n2"),
    ],
)
def test_options_are_told_as_parameters(text: str, told: str) -> None:
    assert arguments.told(text, ("min_busbw_gb_per_s", "nproc_per_node", "run_dir")) == told
