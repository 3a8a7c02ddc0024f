"""What CUDA makes of CUDA_VISIBLE_DEVICES, also of words that it does not know."""

import pytest

from nccltool.hosts import cuda_mask

A, B, C = "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "GPU-8932a100-0000", "GPU-77770000-0000"
UUIDS = (A, B, C, *(f"GPU-{n}0000000-0000" for n in range(5)))


@pytest.mark.parametrize(
    ("mask", "places"),
    [
        (None, list(range(8))),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),
        ("0", [0]),
        ("3,1", [3, 1]),
        (" 3 , 1 ", [3, 1]),
        ("0,-1,1", [0]),
        ("0,8,1", [0]),
        ("0,,1", [0]),
        ("0,1,", [0, 1]),
        ("+2", [2]),
        ("1gpu2,2ampere", [1, 2]),  # as strtoul reads them
        ("all", []),
        ("0,0", []),
        ("1,2,3,1", []),
        ("9,0,0", []),
        (A, [0]),
        (f"{C},{A}", [2, 0]),
        ("GPU-8932f", [0]),
        ("GPU-8932", []),  # two begin so
        (f"{A},GPU-no,{C}", [0]),
        (f"{A},1", [0]),  # the first word tells which they are
        (f"1,{A}", [1]),
        (f"{A},GPU-8932f", []),
        ("MIG-ad4a4c2b-4e0b-5f4b-9f0b-6a4a6a6b7c8d", [0]),
        ("MIG-GPU-8932f937/1/0,MIG-GPU-8932f937/2/0", [0]),
    ],
)
def test_a_mask(mask: str | None, places: list[int]) -> None:
    env = {} if mask is None else {"CUDA_VISIBLE_DEVICES": mask}
    assert cuda_mask.chosen(env, UUIDS) == places


@pytest.mark.parametrize(
    ("mask", "places"),
    [("GPU-1,GPU-2", [0, 1]), ("GPU-1,GPU-1", []), ("GPU-1,0", [0]), ("GPU-1,GPU-2,GPU-3", [0, 1]), ("1", [1])],
)
def test_uuids_that_are_not_known(mask: str, places: list[int]) -> None:
    assert cuda_mask.chosen({"CUDA_VISIBLE_DEVICES": mask}, (None, None)) == places


@pytest.mark.parametrize(
    ("mask", "has"), [("0", False), ("", False), (" GPU-1", True), ("0,GPU-1", False), ("MIG-1", False)]
)
def test_the_driver_is_asked_for_uuids_only(mask: str, has: bool) -> None:
    assert cuda_mask.has_uuids({"CUDA_VISIBLE_DEVICES": mask}) is has


def test_without_gpus_no_mask_makes_one() -> None:
    assert [cuda_mask.chosen({"CUDA_VISIBLE_DEVICES": mask}, ()) for mask in ("0", "GPU-1", "MIG-1")] == [[]] * 3
