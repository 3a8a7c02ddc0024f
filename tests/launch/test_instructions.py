"""Instructions cross to the nodes as lines, and to each node only what is for it."""

import msgspec
import pytest

from nccltool.launch import instructions
from nccltool.launch.instructions import Alive, Go, Goal, Instruction, Leave, Saved, Try

GOALS: dict[int, tuple[Goal, ...]] = {
    node: (Goal(node=0, port=node, addresses=("10.0.0.1", "fd00::1")),) for node in (1, 2)
}
PLACES = {1: (0, "n1:5"), 2: (1, "10.0.0.1:5")}


@pytest.mark.parametrize(
    ("whole", "part"),
    [
        (Try(goals=GOALS), Try(goals={2: GOALS[2]})),
        (Go(nodes=2, places=PLACES, nproc_per_node=4), Go(nodes=2, places={2: PLACES[2]}, nproc_per_node=4)),
        (Saved(), Saved()),
        (Saved(left_s=59.5), Saved(left_s=59.5)),
        (Alive(), Alive()),
        (Leave(), Leave()),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_node_is_told_what_is_for_it(whole: Instruction, part: Instruction) -> None:
    line = instructions.encode(instructions.for_nodes(whole, [2, 7]))
    assert line.endswith(b"\n")
    assert instructions.decode(line) == part


@pytest.mark.parametrize(
    "line", [b"", b"{", b'{"\xed":1}', b'{"tell":"\xed\xa0"}', b"[]", b'{"instruction":"nothing"}']
)
def test_what_is_no_instruction_is_refused(line: bytes) -> None:
    with pytest.raises(msgspec.DecodeError):
        instructions.decode(line)


def test_what_is_nested_too_deeply_is_no_instruction() -> None:
    with pytest.raises(msgspec.DecodeError):
        instructions.decode(b'{"of":' + b"[" * 200_000)
