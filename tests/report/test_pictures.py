"""Charts as files of their own: whole, without what only a page has, each under its own name."""

import re
from xml.etree import ElementTree

import pytest

from nccltool.report import page, pictures
from tests.report import materials

NAMES = {
    "probe": ["01-bandwidth-all_reduce-busbw", "02-bandwidth-all_reduce-algbw", "03-bandwidth-all_reduce-time"],
    "pairs": ["01-pairs-share-of-the-healthy-speed"],
    "train": [
        "01-training-where-the-time-of-a-step-goes",
        "02-training-loss-of-ddp",
        "03-pipeline-one-step-of-ddp-gpipe",
    ],
    "empty": [],
}


def _of(name: str) -> list[pictures.PictureFile]:
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    return list(pictures.of(page.of(materials.ALL[name]())))


@pytest.mark.parametrize("name", NAMES)
def test_each_chart_has_a_file(name: str) -> None:
    assert [one.name for one in _of(name)][:3] == NAMES[name]


@pytest.mark.parametrize("name", ["pairs", "compared", "hostile"])
def test_each_is_whole_without_the_page(name: str) -> None:
    for one in _of(name):
        tree = ElementTree.fromstring(one.svg)
        assert not [part for part in tree.iter() if part.tag.endswith("script")]
        assert not re.search(r"var\(|class=\"shade|href", one.svg)
        assert re.fullmatch(r"[\w-]+", one.name)


def test_png_is_drawn_from_it() -> None:
    assert pictures.png(_of("pairs")[0]).startswith(b"\x89PNG")
