"""Who is to blame for endings as GPUs, NCCL and torch leave them: the right one, or nobody."""

import pytest

from nccltool.launch import blame
from tests.launch.endings.replay import Ending, endings, played

ENDINGS = endings()


def test_there_are_enough() -> None:
    kinds = {ending.kind for ending in ENDINGS}
    assert len(kinds) >= 10
    assert all(sum(one.kind == kind for one in ENDINGS) >= 4 for kind in kinds)


@pytest.mark.parametrize("ending", ENDINGS, ids=lambda ending: ending.id)
def test_who_is_to_blame(ending: Ending) -> None:
    found = blame.after_fault(played(ending))
    assert found is not None
    said = "nobody" if found.subject.kind == "run" else f"{found.subject.kind} {found.subject.name}"
    assert said == ending.truth, "\n".join(found.lines())
