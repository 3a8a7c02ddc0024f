"""What a paper machine is, as tests write it and processes read it."""

from pathlib import Path

import pytest

from tests.papergpu.machine import PaperFault, PaperMachine, read, uuid_of, visible

EIGHT = PaperMachine(name="eight")
AMD = PaperMachine(name="amd", vendor="amd")


def test_a_machine_is_read_as_it_was_written(tmp_path: Path) -> None:
    machine = PaperMachine(
        name="all",
        kind="dgx-h100",
        free_bytes=(1, 2),
        torch_usable="CUDA driver initialization failed",
        usable_ranks=(0, 2),
        faults=(PaperFault(rank=1, call=7, kind="ecc"),),
    )
    assert read(Path(machine.write(tmp_path)["PAPER_GPU"])) == machine


@pytest.mark.parametrize(
    ("machine", "env", "seen"),
    [
        (EIGHT, {}, tuple(range(8))),
        (EIGHT, {"CUDA_VISIBLE_DEVICES": ""}, ()),
        (EIGHT, {"CUDA_VISIBLE_DEVICES": "3,1"}, (3, 1)),
        (EIGHT, {"CUDA_VISIBLE_DEVICES": "0,9,1"}, (0,)),
        (EIGHT, {"CUDA_VISIBLE_DEVICES": "2,2"}, ()),
        (EIGHT, {"CUDA_VISIBLE_DEVICES": f"GPU-{uuid_of(EIGHT, 5)},0"}, (5, 0)),
        (EIGHT, {"CUDA_VISIBLE_DEVICES": "GPU-aaaaaaaa"}, ()),
        (EIGHT, {"HIP_VISIBLE_DEVICES": "0"}, tuple(range(8))),
        (AMD, {"HIP_VISIBLE_DEVICES": "0,1"}, (0, 1)),
        (AMD, {"CUDA_VISIBLE_DEVICES": "0,1"}, (0, 1)),
        (AMD, {"ROCR_VISIBLE_DEVICES": "4,5,6", "HIP_VISIBLE_DEVICES": "1"}, (5,)),
    ],
)
def test_masks(machine: PaperMachine, env: dict[str, str], seen: tuple[int, ...]) -> None:
    assert visible(env, machine) == seen
