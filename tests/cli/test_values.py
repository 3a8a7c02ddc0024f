"""Values that a shell completes; what cannot be read completes nothing."""

from pathlib import Path

import click
import pytest

from nccltool.cli import values
from nccltool.core.run_directory import RunDir

_OPTION = click.Option(["--x"])


def _of(completer: values.Completer, begun: str, **params: str) -> list[str]:
    context = click.Context(click.Command("x"))
    context.params.update(params)
    return [item.value for item in completer(context, _OPTION, begun)]


@pytest.mark.parametrize(
    ("completer", "begun", "found"),
    [
        (values.operations, "all_re", ["all_reduce"]),
        (values.operations, "all_reduce,all_re", []),
        (values.operations, "all_gather,all_re", ["all_gather,all_reduce"]),
        (values.dtypes, "bf", ["bfloat16"]),
        (values.reductions, "a", ["avg"]),
        (values.strategies, "dd", ["ddp"]),
        (values.stages, "a", ["across"]),
        (values.platforms, "aut", ["auto"]),
        (values.checks, "nig", ["nightly"]),
        (values.rules, "SYN00", [f"SYN00{number}" for number in range(1, 10)]),
        (values.explained, "ib-li", ["ib-link"]),
        (values.explained, "NCCL_IB_HC", ["NCCL_IB_HCA"]),
        (values.explained, "NccltoolWrong", ["NccltoolWrongData"]),
    ],
)
def test_names(completer: values.Completer, begun: str, found: list[str]) -> None:
    assert _of(completer, begun) == found


def test_runs_are_those_of_the_folder_that_is_named(tmp_path: Path) -> None:
    RunDir(tmp_path / "mine", "20260101T000000Z-0001", b"{}").close()
    assert _of(values.runs, "20", run_dir=str(tmp_path / "mine")) == ["20260101T000000Z-0001"]
    assert _of(values.runs, "20", run_dir=str(tmp_path / "other")) == ["20"]  # the shell looks for files


def test_a_store_that_is_damaged_completes_nothing(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("no database")
    assert _of(values.sides, "baseline:", store=str(tmp_path / "store")) == ["baseline:"]
