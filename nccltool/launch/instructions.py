"""What the runner tells node processes on their standard input after the job: one line of JSON each."""

from collections.abc import Collection

import msgspec


class Instruction(msgspec.Struct, frozen=True, kw_only=True, tag_field="do"):
    """Base of all instructions."""


class Goal(msgspec.Struct, frozen=True, kw_only=True):
    """Another node, at one of its ports."""

    node: int
    port: int
    addresses: tuple[str, ...]


class Try(Instruction, frozen=True, tag="try"):
    """Try to reach other nodes; the answers are events Reached."""

    goals: dict[int, tuple[Goal, ...]]
    """Of each node: whom it must reach."""


class TryAgain(Try, frozen=True, tag="try-again"):
    """The same while ranks run, or after they failed; each node also tells whose calls it cannot answer."""


class Go(Instruction, frozen=True, tag="go"):
    """Start the ranks."""

    nodes: int
    places: dict[int, tuple[int, str]]
    """Of each node that takes part: its node rank from now on, and where it reaches the store (host:port)."""
    nproc_per_node: int
    served_at: tuple[str, ...] = ()
    """Where others reach the store: the addresses at which the first node goes on listening; () = no others."""


class Saved(Instruction, frozen=True, tag="saved", omit_defaults=True):
    """The result that rank 0 has reported is on disk."""

    left_s: float | None = None
    """Until the deadline of the run."""


class Alive(Instruction, frozen=True, tag="alive"):
    """The runner is there."""


class Leave(Instruction, frozen=True, tag="leave"):
    """SIGTERM has come to the runner: ranks save what they have, and end."""


AnyInstruction = Try | TryAgain | Go | Saved | Alive | Leave

_decoder = msgspec.json.Decoder(AnyInstruction)


def for_nodes(instruction: Instruction, nodes: Collection[int]) -> Instruction:
    """What of an instruction is for these nodes: with a thousand of them, the whole would be long."""
    match instruction:
        case Try():
            goals = {node: instruction.goals[node] for node in nodes if node in instruction.goals}
            return msgspec.structs.replace(instruction, goals=goals)
        case Go():
            places = {node: instruction.places[node] for node in nodes if node in instruction.places}
            return msgspec.structs.replace(instruction, places=places)
    return instruction


def encode(instruction: Instruction) -> bytes:
    return msgspec.json.encode(instruction) + b"\n"


def decode(line: str | bytes) -> AnyInstruction:
    """The instruction of a line. Raises msgspec.DecodeError."""
    try:
        instruction: AnyInstruction = _decoder.decode(line)
    except (UnicodeDecodeError, RecursionError) as error:  # of a key, or nested: msgspec says it so
        raise msgspec.DecodeError(str(error)) from error
    return instruction
