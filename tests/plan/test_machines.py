from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.plan import machines
from nccltool.probe.result import Run
from tests.plan.samples import H100


@pytest.mark.parametrize("name", machines.names())
def test_the_machines_that_come_along_are_whole(name: str) -> None:
    machine = machines.of_word(name)
    assert machine.name == name
    assert 0.4 < machine.matmul_flop_per_s / machine.peak_flop_per_s < 1
    assert machine.across_bytes_per_s < machine.inside_bytes_per_s <= machine.inside_all_reduce_bytes_per_s
    assert machine.source


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("memory = ", "memroy = ", "unknown key machine.memroy"),
        ('"79.6 GiB"', "80", "must be a number with its unit"),
        ("gpus = 8", "gpus = 0", "must be a whole number from 1"),
        ("NVIDIA H100 80GB HBM3", "Acme 1", "the peak of Acme 1 is unknown"),
    ],
)
def test_a_file_that_is_wrong_names_the_line(old: str, new: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text((machines.folder() / "h100-sxm-8.toml").read_text().replace(old, new))
    with pytest.raises(BadInput, match=r"own.toml:\d+: ") as raised:
        machines.of_word(str(file))
    assert said in raised.value.message


def test_an_unknown_machine_is_answered_with_all() -> None:
    with pytest.raises(BadInput) as raised:
        machines.of_word("h100")
    assert "h100-sxm-8" in raised.value.remedy


def test_a_run_gives_its_collectives(measured_run: Run) -> None:
    machine = machines.with_probes(H100, [measured_run], "latest")
    assert machine.gpus == 1
    assert [(one.operation, one.ranks, one.is_across) for one in machine.measured] == [("all_reduce", 2, True)]
    assert machine.measured[0].busbw_bytes_per_s == pytest.approx(1e9, rel=0.05)
    assert machine.measured[0].alpha_s == pytest.approx(1e-4, rel=0.1)


def test_a_run_with_one_size_has_no_model(measured_run: Run) -> None:
    with pytest.raises(BadInput, match="--run latest: it has no operation with enough sizes"):
        machines.with_probes(H100, [replace(measured_run, measurements=measured_run.measurements[:1])], "latest")


@pytest.mark.parametrize("changes", [{"nodes": 0}, {"world_size": 0}, {"world_size": -1}])
def test_a_run_without_ranks_is_refused(measured_run: Run, changes: dict[str, int]) -> None:
    damaged = replace(measured_run, info=replace(measured_run.info, **changes))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="nodes or ranks of that run are unknown"):
        machines.with_probes(H100, [damaged], "latest")
