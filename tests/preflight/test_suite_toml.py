"""TOML of suites: unknown keys, values of another type, and text that is none."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nccltool.preflight import suite_reader
from tests.preflight.test_suite_reader import is_refused


@settings(max_examples=40)
@given(st.text(alphabet=st.sampled_from('[]=".\n abcexpt_#1'), max_size=200))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.mktemp("suite") / "x.toml"
    file.write_text(text)
    assert suite_reader.problems(file)  # none of these is a whole suite


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('title = "A suite"', 'titel = "A suite"', "mine.toml:2: unknown key titel; did you mean title?"),
        ("[across]", "[acros]", "mine.toml:8: unknown key acros; did you mean across?"),
        ("ops =", "opps =", "mine.toml:9: unknown key across.opps; did you mean ops?"),
        ('["all_reduce"]', '["all_redcue"]', "mine.toml:9: across.ops must be one of"),
        ('"1 GiB"]', "1024]", "mine.toml:10: across.sizes must be a size with its unit in quotes"),
        ('"500 ms"', '"500"', "mine.toml:11: across.row_time must be a number with its unit in quotes"),
        ("at_least =", "at_lest =", "mine.toml:17: unknown key across.expect.at_lest; did you mean at_least?"),
        ('"300 GB/s"', '"300 GiB"', "mine.toml:17: across.expect.at_least must be a number with its unit"),
        ("schema = 1", "schema = 2", "mine.toml:1: schema must be a whole number from 1 to 1"),
        ("[doctor]", "[[doctor]]", "doctor must be a table"),
        ("[train]", "[train", "is not TOML"),
        ('["LIM"]', "[]", "mine.toml:6: doctor.ignore must be a non-empty list in brackets"),
    ],
)
def test_a_mistake_is_said_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    is_refused(tmp_path, old, new, said)
