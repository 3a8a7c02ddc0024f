"""python -m nccltool.attach.reach.far_end: looks at the host that it runs on.

The order comes on standard input, so that nothing of it has to be quoted for a shell; the answer goes to standard
output (`reach/answers.py`).
"""

import secrets
import sys

import msgspec

from nccltool.attach.look.order import LookOrder
from nccltool.attach.look.resident import ResidentLook
from nccltool.attach.reach.answers import packed

MODULE = ("-P", "-m", "nccltool.attach.reach.far_end")
_LARGEST_ORDER = 1 << 20


def main() -> None:
    resident, writer = ResidentLook(), secrets.token_hex(4)
    while line := sys.stdin.buffer.readline(_LARGEST_ORDER):  # one order, or those of a watch, a line each
        answer = resident.answer(msgspec.json.decode(line, type=LookOrder))
        sys.stdout.buffer.writelines(packed(answer, writer))
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
