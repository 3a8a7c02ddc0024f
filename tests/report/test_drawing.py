"""SVG: texts stay texts, ids differ, and what is missing has a remedy."""

import builtins
import resource
from typing import Any
from xml.etree import ElementTree

import pytest

from nccltool.core.errors import BadInput
from nccltool.report import charts, drawing
from tests.report.materials import HOSTILE, LONG


def _drawn(name: str = "c1") -> str:
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    values = [{"name": text, "x": 50.0, "tone": "var(--fail)", "about": text} for text in (HOSTILE, LONG, "n1")]
    return drawing.svg(charts.bars("%", 3), values, name)


def test_hostile_names_are_text_in_well_formed_xml() -> None:
    drawn = _drawn()
    tree = ElementTree.fromstring(drawn)
    assert not [one for one in tree.iter() if one.tag.endswith("script")]
    assert not [key for one in tree.iter() for key in one.attrib if key.lower().startswith("on") or key == "style"]
    assert len(drawn) < 20_000


def test_numbers_in_texts_keep_their_digits() -> None:
    """Places are rounded, and nothing else: 0.00497 GB/s is not 0.00."""
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    values = [{"name": "10.77.0.12345", "x": 0.00497, "tone": "var(--fail)", "about": "n1: 0.00497 GB/s"}]
    drawn = drawing.svg(charts.bars("GB/s", 1), values, "c1")
    texts = " ".join(ElementTree.fromstring(drawn).itertext())
    assert "10.77.0.12345" in texts
    assert "0.001" in texts
    assert "n1: 0.00497 GB/s" in drawn


def test_it_loads_nothing() -> None:
    assert "http" not in _drawn().replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_ids_are_those_of_the_chart() -> None:
    one, other = _drawn("c1"), _drawn("c2")
    assert one == other.replace("c2-", "c1-")


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "vl_convert":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BadInput, match="vl-convert-python, which are not installed") as caught:
        drawing.require()
    assert "nccltool[report]" in caught.value.remedy


def test_too_little_address_space_is_said_before_v8_aborts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (4 << 30, resource.RLIM_INFINITY))
    with pytest.raises(BadInput, match="needs 96 GiB of address space, and ulimit -v allows 4 GiB") as caught:
        drawing.require()
    assert "ulimit -v unlimited" in caught.value.remedy
