"""Words for which there is no page: what is like them; and what the pages are made of."""

import tomllib

import pytest

from nccltool.cli import help_pages
from nccltool.core import members
from tests.conftest import Nccltool
from tests.docs.pages import ROOT
from tests.support.explained import pages_read


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("NCCL_IB_GID_INDX", "NCCL_IB_GID_INDEX"),
        ("quoted-vale", "quoted-value"),
        ("SYN999", "SYN"),
        ("NccltoolWrongDat", "NccltoolWrongData"),
        ("rank-dide", "rank-died"),
        ("reach/port", "reach/ports"),
        ("busbandw", "busbw"),
        ("exit-cods", "exit-codes"),
    ],
)
def test_explain_names_what_is_like_it(word: str, near: str, nccltool: Nccltool) -> None:
    said = nccltool("explain", word)
    assert (said.code, said.out) == (2, "")
    assert near in said.err


@pytest.mark.parametrize("kind", help_pages.KINDS)
def test_every_name_of_a_kind_has_its_page(kind: str) -> None:
    module = members.module(help_pages.__name__, kind)
    names = module.names()
    assert len(set(names)) == len(names) > 4
    assert [name for name in names if not (module.page(name) or "").startswith("# ")] == []
    assert module.page("no-such-word") is None


def test_the_wheel_has_the_pages_that_are_read() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    there = {source: target for source, target in included.items() if source.startswith("docs/")}
    assert there == {f"docs/{name}": f"nccltool/docs/{name}" for name in pages_read()}
