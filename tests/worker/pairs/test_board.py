"""Who meets, and what came of it, in a store."""

from datetime import timedelta

import pytest
from torch.distributed import HashStore

from nccltool.localize.pairs.events import Encountered
from nccltool.localize.pairs.units import MeetingUnit
from nccltool.worker.pairs.board import MeetingBoard, MeetingResult

pytestmark = [pytest.mark.torch, pytest.mark.quick]


@pytest.fixture
def board() -> MeetingBoard:
    store = HashStore()
    store.set_timeout(timedelta(seconds=5))
    return MeetingBoard(store)


def result(place: int, busbw: float | None = 1e9) -> MeetingResult:
    said = Encountered(round=0, members=("n1", "n2"), busbw_bytes_per_s=busbw, samples=3)
    return MeetingResult(meeting=place, encounters=(said,))


def test_units_cross(board: MeetingBoard) -> None:
    units = (MeetingUnit(name="n1", node=0, ranks=(0, 1)), MeetingUnit(name="n2", node=1, ranks=(2, 3)))
    board.put_units(units)
    assert board.units() == units


def test_a_rank_that_comes_late_leaves_old_rounds_out(board: MeetingBoard) -> None:
    board.put_round(0, (("n1", "n2"),))
    assert board.round_after(-1) == (0, (("n1", "n2"),))
    board.put_round(1, (("n1", "n3"),))
    board.put_round(2, (("n2", "n3"),))
    assert board.round_after(0) == (2, (("n2", "n3"),))
    board.put_round(3, ())
    assert board.round_after(1) == (3, ())


def test_those_of_a_meeting_wait_for_each_other(board: MeetingBoard) -> None:
    assert not board.gather(0, 0, size=2, patience_s=0.05)
    assert board.gather(0, 0, size=2, patience_s=0.05)
    assert not board.gather(0, 1, size=2, patience_s=0.05)  # another meeting


def test_results_are_heard_as_they_come(board: MeetingBoard) -> None:
    heard: list[MeetingResult] = []
    board.tell(0, result(2))
    board.tell(0, result(0, None))
    board.tell(0, result(0))  # its other rank has seen the same
    assert board.listen(0, 3, patience_s=0.05, hear=heard.append) == {1}
    assert heard == [result(2), result(0, None)]
    assert board.listen(1, 0, patience_s=0.0, hear=heard.append) == set()
