"""python -m nccltool.attach.reach.far_end: looks at the host that it runs on.

The order comes on standard input, so that nothing of it has to be quoted for a shell; the answer is one line on
standard output, behind a byte that no banner or log has.
"""

import sys

import msgspec

from nccltool.attach.look.order import LookAnswer, LookOrder
from nccltool.attach.look.resident import ResidentLook

MARK = b"\x1e"
"""RS, as in RFC 7464."""
MODULE = ("-P", "-m", "nccltool.attach.reach.far_end")
_LARGEST_ORDER = 1 << 20


def answer_of(line: bytes) -> LookAnswer | None:
    """The answer in a line; None when it has none. Raises ValueError when it is damaged."""
    _, mark, rest = line.partition(MARK)
    return msgspec.json.decode(rest, type=LookAnswer) if mark else None


def main() -> None:
    resident = ResidentLook()
    while line := sys.stdin.buffer.readline(_LARGEST_ORDER):  # one order, or those of a watch, a line each
        answer = resident.answer(msgspec.json.decode(line, type=LookOrder))
        sys.stdout.buffer.write(MARK + msgspec.json.encode(answer) + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
