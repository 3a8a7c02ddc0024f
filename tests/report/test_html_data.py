"""The raw data inside a report: what went in comes out, and damage is one sentence."""

import base64
import gzip
import json

import pytest

from nccltool.core.errors import BadInput
from nccltool.report import html_data
from nccltool.report.parts import RawDocument

SMALL = RawDocument(name="a", json=json.dumps({"x": ["</script>", "\u2028", 1.5]}).encode())
LARGE = RawDocument(name="b", json=json.dumps({"x": list(range(100_000))}).encode())


def _page(text: str) -> bytes:
    return f"<!doctype html><p>{text}".encode()


def test_documents_come_back() -> None:
    block = html_data.block((SMALL, LARGE))
    assert len(block) < len(LARGE.json)
    found = list(html_data.documents(_page(block), "r.html"))
    assert [(one.name, json.loads(one.json)) for one in found] == [
        (one.name, json.loads(one.json)) for one in (SMALL, LARGE)
    ]


def test_what_a_report_is() -> None:
    assert html_data.is_report(_page(html_data.block((SMALL,))))
    assert not html_data.is_report(b"<!doctype html><p>another page")


def _with(entry: object) -> bytes:
    return _page(html_data.block((SMALL,)).replace(json.dumps({"x": 1})[0], "{", 1)).split(b"[{")[0] + (
        f"[{json.dumps(entry)}]</script>".encode()
    )


BOMB = base64.b64encode(gzip.compress(b" " * (100 << 20))).decode()


@pytest.mark.parametrize(
    "data",
    [
        _page(html_data.block((SMALL,)))[:-30],
        _page(html_data.block((SMALL,)) * 2),
        _with({"name": "a"}),
        _with(7),
        _with({"name": "a", "gzip": "no base64"}),
        _with({"name": "a", "gzip": base64.b64encode(b"no gzip").decode()}),
        _with({"name": "a", "gzip": BOMB}),
        _with({"name": "a", "gzip": BOMB[:2000]}),
    ],
)
def test_damage_is_one_sentence(data: bytes) -> None:
    with pytest.raises(BadInput, match=r"^r\.html is a damaged report: its raw data cannot be read$"):
        list(html_data.documents(data, "r.html"))
