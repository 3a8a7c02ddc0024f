"""A report in each format: whole, and with every hostile text as text."""

import re
from html.parser import HTMLParser

import pytest

from nccltool.core.look import Look
from nccltool.report import html_data, page, views
from nccltool.report.views import html
from tests.report import materials
from tests.report.materials import LONG


class _Read(HTMLParser):
    """Elements with their attributes, and the text that is seen."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def _html(name: str) -> str:
    pytest.importorskip("vl_convert", reason="the extra report is not installed")
    pytest.importorskip("jinja2", reason="the extra report is not installed")
    return html.render(page.of(materials.ALL[name]()))


def _parsed(text: str) -> _Read:
    reader = _Read()
    reader.feed(text)
    return reader


@pytest.mark.parametrize("name", materials.ALL)
def test_html_has_every_section_with_its_headline_and_figure(name: str) -> None:
    made, read = page.of(materials.ALL[name]()), _parsed(_html(name))
    for section in made.sections:
        assert section.title in read.text
        if name != "hostile":
            assert section.headline in read.text
        if section.figure:
            assert section.figure.value in read.text


@pytest.mark.parametrize("name", materials.ALL)
def test_html_loads_nothing_and_runs_one_script(name: str) -> None:
    read = _parsed(_html(name))
    scripts = [attributes for tag, attributes in read.elements if tag == "script"]
    assert [one.get("type") for one in scripts if one.get("type") != "application/json"] == [None]
    for tag, attributes in read.elements:
        assert tag not in ("img", "link", "iframe", "object", "embed", "form", "base")
        assert not {key for key in attributes if key.startswith("on") or key in ("style", "src")}
        assert (attributes.get("href") or "#").startswith("#")


@pytest.mark.parametrize("name", materials.ALL)
def test_ids_are_unique_and_links_lead_somewhere(name: str) -> None:
    read = _parsed(_html(name))
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {(attributes["href"] or "")[1:] for tag, attributes in read.elements if tag == "a"}
    assert links <= set(ids)


def test_the_policy_names_what_is_inside() -> None:
    text = _html("probe")
    policy = next(a["content"] or "" for tag, a in _parsed(text).elements if a.get("http-equiv"))
    assert "default-src 'none'" in policy
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert f"style-src '{html._hash(style)}'; script-src '{html._hash(script)}'" in policy


def test_hostile_text_is_seen_as_text() -> None:
    text = _html("hostile")
    read = _parsed(text)
    assert "<script>alert(1)</script>" in read.text
    assert "alert(1)" not in re.sub(r"&lt;script&gt;alert\(1\)&lt;|u003cscript\\u003ealert\(1\)", "", text)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    assert "\\x1b[31m" in read.text
    assert "{{7*7}}" in read.text
    assert len(text) < 1_500_000


def test_the_raw_data_is_inside() -> None:
    made = page.of(materials.compared())
    found = list(html_data.documents(_html("compared").encode(), "r.html"))
    assert [one.name for one in found] == [one.name for one in made.documents]


@pytest.mark.parametrize("name", materials.ALL)
def test_markdown_has_the_verdict_first_and_every_section(name: str) -> None:
    made = page.of(materials.ALL[name]())
    text = views.renderer("markdown")(made)
    assert text.startswith(f"# {made.status.upper()}: ")
    for section in made.sections:
        assert section.id == "manual" or f"\n## {section.title}\n" in text


def test_markdown_gives_hostile_text_no_meaning() -> None:
    text = views.renderer("markdown")(page.of(materials.hostile()))
    assert "<script" not in text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    assert LONG not in text
    for line in text.splitlines():  # no text adds a column to its table
        if line.startswith("| GPU"):
            assert len(re.findall(r"(?<!\\)\|", line)) == 3


def test_markdown_folds_long_tables() -> None:
    text = views.renderer("markdown")(page.of(materials.of(materials.preflight())))
    assert "<details><summary>n2: 1 fail</summary>\n\n| check |" in text


def test_the_screen_has_the_verdict_curves_and_figures() -> None:
    text = views.renderer("table")(page.of(materials.of(materials.swept())))
    assert text.startswith("PASS all_reduce, all_gather, send_recv, 1 KiB to 4 MiB; peak busbw")
    assert "    ████  all_reduce up to 1.5\n" in text
    assert "Late ranks: The others waited for rank 3 by 4.2 ms." in text


def test_the_screen_shows_no_control_character() -> None:
    text = views.renderer("table")(page.of(materials.hostile()))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    assert LONG not in text


def test_a_narrow_screen_is_kept_to() -> None:
    text = views.renderer("table", Look(width=80))(page.of(materials.of(materials.pairs())))
    assert max(map(len, text.splitlines())) <= 96
