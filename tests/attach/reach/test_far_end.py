"""The end on another host."""

import pytest

from nccltool.attach.reach import far_end


def test_a_damaged_answer_is_refused() -> None:
    with pytest.raises(ValueError, match="truncated"):
        far_end.answer_of(b"\x1e{")
