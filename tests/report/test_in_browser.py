"""Reports in a real headless Chromium: nothing is loaded, charts tell their values, it fits a phone and prints."""

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nccltool.report import page
from nccltool.report.views import html
from tests.report import materials
from tests.support.chromium import PROGRAM, Browser, browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed"),
    pytest.mark.skipif(importlib.util.find_spec("vl_convert") is None, reason="the extra report is not installed"),
]
_AXE = importlib.util.find_spec("axe_core_python")
_CENTER = (
    "(() => { const one = document.querySelector(%r); one.scrollIntoView({block: 'center'});"
    " const box = one.getBoundingClientRect();"
    " return [box.left, box.top, box.width, box.height]; })()"
)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module", params=materials.ALL)
def opened(request: pytest.FixtureRequest, chromium: Browser, tmp_path_factory: Any) -> tuple[str, Browser, Path]:
    """A report of each kind: (its name, the browser, the file)."""
    name = str(request.param)
    file = tmp_path_factory.mktemp("report") / f"{name}.html"
    file.write_text(html.render(page.of(materials.ALL[name]())))
    chromium.open(file)
    return name, chromium, file


Opened = tuple[str, Browser, Path]


def test_nothing_is_loaded_and_the_console_is_empty(opened: Opened) -> None:
    name, chromium, _ = opened
    assert chromium.troubles() == []
    assert chromium.run("document.title") == page.of(materials.ALL[name]()).title


def test_each_section_is_seen_with_its_headline_and_figure(opened: Opened) -> None:
    name, chromium, _ = opened
    seen = " ".join(chromium.run("document.body.innerText").split())
    for section in page.of(materials.ALL[name]()).sections:
        assert section.title in seen
        assert section.figure is None or section.figure.value in seen
        if name != "hostile":
            assert " ".join(section.headline.split()) in seen


@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_and_is_kept_as_a_picture(opened: Opened, width: int) -> None:
    """Pictures are kept in the folder that KEPT_PICTURES names."""
    name, chromium, file = opened
    chromium.resize(width, 900)
    assert chromium.run("document.documentElement.scrollWidth") <= width
    picture = Path(os.environ.get("KEPT_PICTURES", file.parent)) / f"{name}-{width}.png"
    picture.parent.mkdir(parents=True, exist_ok=True)
    chromium.picture(picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_it_prints(opened: Opened) -> None:
    _, chromium, _ = opened
    assert chromium.printed().startswith(b"%PDF-")


@pytest.mark.skipif(_AXE is None, reason="axe-core-python is not installed")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(opened: Opened, scheme: str) -> None:
    _, chromium, _ = opened
    assert _AXE and _AXE.submodule_search_locations
    (source,) = Path(_AXE.submodule_search_locations[0]).rglob("axe.min.js")
    chromium.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    chromium.run("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    chromium.run(source.read_text() + "; 1")
    found = chromium.run(
        "axe.run().then(result => result.violations.filter(one => ['serious', 'critical'].includes(one.impact))"
        ".map(one => [one.id, one.nodes[0].html.slice(0, 200), one.nodes[0].failureSummary]))"
    )
    assert found == []


def _opened(chromium: Browser, tmp_path: Path, name: str) -> None:
    file = tmp_path / f"{name}.html"
    file.write_text(html.render(page.of(materials.ALL[name]())))
    chromium.open(file)


def _tip(chromium: Browser) -> Any:
    return chromium.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")


def test_hovering_a_cell_names_the_pair_and_its_value(chromium: Browser, tmp_path: Path) -> None:
    _opened(chromium, tmp_path, "pairs")
    left, top, width, height = chromium.run(_CENTER % "svg.matrix rect")
    chromium.hover(left + width * 2.5 / 7, top + height * 0.5 / 7)
    assert _tip(chromium) == "284 with 678: 56 % of the healthy speed"
    chromium.hover(left + width * 1.5 / 7, top + height * 0.5 / 7)
    assert _tip(chromium) == "284 with 644: not measured"
    chromium.hover(1, 1)
    assert _tip(chromium) == ""


def test_hovering_a_point_of_a_curve_names_its_value(chromium: Browser, tmp_path: Path) -> None:
    _opened(chromium, tmp_path, "probe")
    left, top, width, height = chromium.run(_CENTER % ".mark-symbol [aria-label]")
    chromium.hover(left + width / 2, top + height / 2)
    assert _tip(chromium).startswith("all_reduce 1 KiB: busbw 1.50 GB/s, 95 % interval")


def test_the_switch_shows_another_view_by_keyboard(chromium: Browser, tmp_path: Path) -> None:
    _opened(chromium, tmp_path, "probe")
    shown = (
        "[...document.querySelectorAll('.switch')[0].querySelectorAll('.view')].map(one => one.offsetHeight > 0)"
    )
    assert chromium.run(shown) == [True, False, False]
    chromium.run("document.querySelector('.switch input').focus()")
    key = {"key": "ArrowRight", "code": "ArrowRight", "windowsVirtualKeyCode": 39}
    chromium.ask("Input.dispatchKeyEvent", type="keyDown", **key)
    chromium.ask("Input.dispatchKeyEvent", type="keyUp", **key)
    assert chromium.run(shown) == [False, True, False]


def test_the_link_of_a_finding_opens_its_page(chromium: Browser, tmp_path: Path) -> None:
    _opened(chromium, tmp_path, "failed")
    chromium.run("document.querySelector('.note a').click()")
    chromium.run("new Promise(done => setTimeout(done, 100))")
    assert chromium.run("document.querySelector('#page-rank-died').open") is True
