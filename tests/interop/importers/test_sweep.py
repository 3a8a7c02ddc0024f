"""The sizes that a head promises, and which of them have no row."""

from dataclasses import replace

import pytest

from nccltool.interop.importers import sweep
from nccltool.interop.importers.base import Row

HEAD = "# nThread 1 nGpus 8 minBytes {} maxBytes {} step: {}({}) warmup iters: 5 iters: 20"
ONE = Row(where="", bytes=0, count=0, dtype="float32", element_size=4, reduce_op="sum", root=None, halves=())


def rows(*sizes: int) -> list[Row]:
    return [replace(ONE, bytes=size) for size in sizes]


@pytest.mark.parametrize(
    ("least", "most", "step", "kind", "sizes"),
    [
        (8, 64, 2, "factor", (8, 16, 32, 64)),
        (8, 60, 2, "factor", (8, 16, 32)),
        (100, 300, 100, "bytes", (100, 200, 300)),
        (64, 64, 1048576, "bytes", (64,)),
        (0, 64, 2, "factor", None),
        (64, 128, 1, "factor", None),
        (64, 128, 0, "bytes", None),
        (1, 10**9, 1, "bytes", None),
    ],
)
def test_sizes(least: int, most: int, step: int, kind: str, sizes: tuple[int, ...] | None) -> None:
    found = sweep.of_head(HEAD.format(least, most, step, kind))
    assert found is not None
    assert found.sizes() == sizes


@pytest.mark.parametrize("line", ["# nThread 1 nGpus 8 minBytes 8 maxBytes#", "# nThread 1", ""])
def test_another_line_has_no_sizes(line: str) -> None:
    assert sweep.of_head(line) is None


@pytest.mark.parametrize(
    ("measured", "ranks", "missing"),
    [
        ((64, 128, 256, 512), 1, ()),
        ((64, 128, 512), 1, ("256 B",)),
        ((64, 64, 128, 128, 256, 256, 512), 1, ("512 B",)),  # -N 2
        ((0, 128, 256, 512), 8, ()),  # 16 bytes for each of 8 ranks
        ((60, 120, 252, 504), 3, ()),  # whole elements for each of 3 ranks
        ((), 8, ("64 B", "128 B", "256 B", "512 B")),
    ],
)
def test_missing(measured: tuple[int, ...], ranks: int, missing: tuple[str, ...]) -> None:
    found = sweep.of_head(HEAD.format(64, 512, 2, "factor"))
    assert found is not None
    assert sweep.missing(found, rows(*measured), ranks) == missing


def test_each_type_has_its_sizes() -> None:
    found = sweep.Sweep(64, 128, 2, is_factor=True)
    both = [*rows(64, 128), replace(ONE, bytes=64, dtype="float16", element_size=2)]
    assert sweep.missing(found, both, 1) == ("128 B float16 sum",)


def test_less_memory_makes_less_sizes() -> None:
    found = sweep.Sweep(64, 512, 2, is_factor=True)
    line = "# Reducing maxBytes to 200 due to memory limitation"
    assert sweep.reduced(found, line).sizes() == (64, 128)
    assert sweep.reduced(found, "# Reducing") == found


def test_a_long_list_is_cut() -> None:
    assert sweep.shown([f"{size} B" for size in range(20)]).endswith("11 B and 8 more")
