"""The keys of a run: each request with its answers, as torch's stores give them."""

import pytest

from nccltool.worker.bus.board import Board
from nccltool.worker.bus.messages import Answer, Ask, Op

pytestmark = pytest.mark.quick


def asked(board: Board, op: Op, *keys: str, values: tuple[bytes, ...] = (), number: int = 0) -> Answer:
    """The answer to a request that need not wait."""
    ((asker, answer),) = board.ask("a", Ask(op=op, keys=keys, values=values, number=number), 0.0)
    assert asker == "a"
    return answer


def told(board: Board, op: Op, *keys: str, values: tuple[bytes, ...]) -> None:
    """A request that gets no answer."""
    assert board.ask("a", Ask(op=op, keys=keys, values=values), 0.0) == []


def test_values_and_counters() -> None:
    board = Board()
    told(board, "set", "k", "l", values=(b"1", b"2"))
    assert asked(board, "get", "l", "k").values == (b"2", b"1")
    assert [asked(board, "add", "n", number=number).number for number in (2, 0, -3)] == [2, 2, -1]
    assert asked(board, "get", "n").values == (b"-1",)
    told(board, "append", "k", "m", values=(b"0", b"3"))
    assert asked(board, "get", "k", "m").values == (b"10", b"3")
    assert [asked(board, "check", *keys).number for keys in ((), ("k", "l"), ("k", "x"))] == [1, 1, 0]
    assert [asked(board, "delete", "k").number for _ in range(2)] == [1, 0]
    assert asked(board, "count").number == 3


def test_swap_as_torch_does() -> None:
    board = Board()
    swaps = [
        (b"expected", b"new", b"expected"),
        (b"", b"first", b"first"),
        (b"wrong", b"new", b"first"),
        (b"first", b"second", b"second"),
    ]
    for expected, desired, found in swaps:
        assert asked(board, "swap", "k", values=(expected, desired)).values == (found,)


def test_who_waits_is_answered_by_the_last_key() -> None:
    board = Board()
    assert board.ask("a", Ask(op="get", keys=("k", "l"), timeout_s=5.0), 0.0) == []
    assert board.ask("b", Ask(op="wait", keys=("l",), timeout_s=5.0), 0.0) == []
    assert board.next_end() == 5.0
    assert board.ask("c", Ask(op="set", keys=("k",), values=(b"1",)), 1.0) == []
    found = board.ask("c", Ask(op="add", keys=("l",), number=4), 1.0)
    assert found == [("c", Answer(number=4)), ("a", Answer(values=(b"1", b"4"))), ("b", Answer())]
    assert board.late(9.0) == []


def test_who_waits_too_long_is_told_for_what() -> None:
    board = Board()
    board.ask("a", Ask(op="get", keys=("k", "l"), timeout_s=5.0), 0.0)
    board.ask("b", Ask(op="get", keys=("m",), timeout_s=7.0), 0.0)
    assert board.late(4.9) == []
    assert board.late(5.0) == [("a", Answer(problem="Timed out after 5 s waiting for k, l"))]
    assert board.next_end() == 7.0
    # what comes later is nobody's
    assert board.ask("c", Ask(op="set", keys=("k", "l"), values=(b"", b"")), 6.0) == []


def test_who_is_gone_gets_no_answer() -> None:
    board = Board()
    board.ask("a", Ask(op="get", keys=("k",), timeout_s=5.0), 0.0)
    board.forget("a")
    assert board.ask("c", Ask(op="set", keys=("k",), values=(b"",)), 1.0) == []
    assert board.late(9.0) == []


def test_who_it_is() -> None:
    board = Board("node 7")
    assert asked(board, "who").values == (b"node 7",)
    assert asked(board, "who", number=20).values == (b"node 7".ljust(20),)
