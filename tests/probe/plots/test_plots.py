"""Curves as files: SVG that any viewer reads, PNG where Pillow is installed."""

import importlib.util
import io
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nccltool.core.errors import BadInput
from nccltool.probe import plots
from nccltool.probe.plots import png
from tests.conftest import Nccltool
from tests.samples import RUNS, good_run, measurement

SWEEP = [measurement(op=op, bytes=2**size) for op in ("reduce", "broadcast") for size in (10, 16, 22)]
SVG = "{http://www.w3.org/2000/svg}"


def test_svg_has_a_curve_an_operation_and_a_dot_a_row() -> None:
    info = replace(good_run().info, id="<&\x1b[2J")
    root = ElementTree.fromstring(plots.drawn(info, SWEEP, "x.svg"))
    assert len(root.findall(f"{SVG}circle")) == len(SWEEP)
    assert len(root.findall(f"{SVG}polyline")) == 2 * 2  # and one in the legend
    texts = [str(one.text) for one in root.findall(f"{SVG}text")]
    assert "message size (as in nccl-tests)" in texts
    assert "bus bandwidth (GB/s)" in texts
    assert {"1 KiB", "64 KiB", "4 MiB", "0.1", "1", "run <&\\x1b[2J"} <= set(texts)


def test_png_is_one() -> None:
    pytest.importorskip("PIL", reason="Pillow is not installed")
    from PIL import Image

    image = Image.open(io.BytesIO(plots.drawn(good_run().info, SWEEP, "x.PNG")))
    assert (image.format, image.size) == ("PNG", (1920, 1080))
    assert len(image.getcolors(2**20) or ()) > 10


@pytest.mark.parametrize("name", ["x.gif", "x", "x.svg.gz", ".svg"])
def test_another_suffix_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="unknown suffix"):
        plots.checked(name)


def test_png_without_pillow_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(png, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match="needs Pillow") as refused:
        plots.checked("x.png")
    assert "nccltool[plot]" in refused.value.remedy
    assert importlib.util.find_spec is not None


def test_nothing_measured_is_nothing_to_draw() -> None:
    with pytest.raises(BadInput, match="has no measurements"):
        plots.drawn(good_run().info, [], "x.svg")


def test_one_row_is_drawn() -> None:
    assert plots.drawn(good_run().info, SWEEP[:1], "x.svg").startswith(b"<svg ")


def test_on_the_command_line(tmp_path: Path, nccltool: Nccltool) -> None:
    from nccltool.probe import document

    folder = tmp_path / "runs/20250102T030405Z-beef"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text(document.to_json(RUNS["good"]()))
    words = ("runs", str(folder), "--plot")
    assert nccltool(*words, str(tmp_path / "x.svg")).code == 0
    assert (tmp_path / "x.svg").read_text().endswith("</svg>\n")
    assert nccltool(*words, str(tmp_path / "x.pdf")).code == 2
    assert nccltool(*words, "/nosuch/x.svg").err.startswith("Error: --plot /nosuch/x.svg cannot be written: ")
    assert nccltool("runs", "--plot", "x.svg").code == 2
    assert nccltool("probe", "--plot", "x.pdf").err.startswith("Error: --plot x.pdf: unknown suffix\n")
