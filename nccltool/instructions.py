"""What the runner tells node processes on their standard input after the job: one line of JSON each."""

import msgspec


class Instruction(msgspec.Struct, frozen=True, kw_only=True, tag_field="do"):
    """Base of all instructions."""


class Try(Instruction, frozen=True, tag="try"):
    """Try to reach node 0 at these addresses; the answer is the event Reached."""

    addresses: tuple[str, ...]
    port: int


class Go(Instruction, frozen=True, tag="go"):
    """Start the ranks."""

    places: dict[int, tuple[int, str]]
    """Of each node that takes part: its node rank from now on, and where it reaches the store (host:port)."""
    nproc_per_node: int


class Saved(Instruction, frozen=True, tag="saved"):
    """The result that rank 0 has reported is on disk."""


class Alive(Instruction, frozen=True, tag="alive"):
    """The runner is there."""


AnyInstruction = Try | Go | Saved | Alive

_decoder = msgspec.json.Decoder(AnyInstruction)


def encode(instruction: Instruction) -> bytes:
    """The line of an instruction."""
    return msgspec.json.encode(instruction) + b"\n"


def decode(line: str | bytes) -> AnyInstruction:
    """The instruction of a line. Raises msgspec.DecodeError."""
    instruction: AnyInstruction = _decoder.decode(line)
    return instruction
