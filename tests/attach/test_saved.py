"""A look is saved without secrets and read again."""

from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.attach import saved
from nccltool.core.errors import BadInput, ResultNotWritten
from tests.attach.seen.looks import hung


def test_a_look_is_read_as_it_was_saved(tmp_path: Path) -> None:
    saved.check(str(tmp_path / "new"))
    saved.save(str(tmp_path / "new"), hung(), "{}")
    assert saved.load(str(tmp_path / "new")) == hung()
    assert saved.load(str(tmp_path / "new/look.json")) == hung()
    assert (tmp_path / "new/look.json").stat().st_mode & 0o777 == 0o600


def test_lines_of_source_hold_no_secret() -> None:
    look = hung()
    (host,) = look.hosts
    sample = host.samples[-1]
    stack = sample.ranks[0].stacks[0]
    frame = replace(stack.frames[0], text='login(token="hf_AbCdEfGhIjKlMnOpQrStUv")')
    rank = replace(sample.ranks[0], stacks=(replace(stack, frames=(frame,)),))
    text = saved.written(replace(look, hosts=(replace(host, samples=(replace(sample, ranks=(rank,)),)),)))
    assert "hf_AbCd" not in text
    assert "login(token=" in text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a saved snapshot of nccltool"),
        ('{"look": {"hosts": []}, "form": "probe", "schema": 1}', "is a document of form 'probe'"),
        ('{"look": {"hosts": []}, "form": "look", "schema": 2}', "has schema 2"),
    ],
)
def test_something_else_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "look.json").write_text(text)
    with pytest.raises(BadInput) as caught:
        saved.load(str(tmp_path))
    assert message in caught.value.message


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="--save"):
        saved.check(str(tmp_path / "file/x"))
    with pytest.raises(ResultNotWritten, match="--save"):
        saved.save(str(tmp_path / "file/x"), hung(), "{}")


def test_a_saved_look_is_not_replaced(tmp_path: Path) -> None:
    saved.save(str(tmp_path), hung(), "{}")
    with pytest.raises(BadInput, match=r"holds a saved snapshot: look\.json"):
        saved.check(str(tmp_path))
