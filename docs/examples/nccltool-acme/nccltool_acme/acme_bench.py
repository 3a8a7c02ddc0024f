"""Results of this site's own benchmark: a line of its name and its ranks, then `operation bytes microseconds`."""

from nccltool.interop.importers import rates
from nccltool.interop.importers.base import Report, Row, Told, operation, printed, refuse, world_size

NCCLTOOL_PLUGIN = 1
_NAME = "acme-bench "


def recognises(text: str) -> bool:
    """By its first word."""
    return text.startswith(_NAME)


def read(text: str, where: str, told: Told) -> tuple[Report, ...]:
    """A test for each operation. Raises BadInput."""
    first, *lines = text.splitlines()
    ranks = first.removeprefix(_NAME).removesuffix(" ranks")
    size = world_size(int(ranks) if ranks.isdecimal() else None, told, where)
    rows: dict[str, list[Row]] = {}
    for number, line in enumerate(lines, 2):
        op, row = _row(line, f"{where}, line {number}", size)
        rows.setdefault(op, []).append(row)
    return tuple(
        Report(
            where=where,
            tool="acme-bench",
            op=operation(op, told, where),
            world_size=size,
            rows=tuple(found),
            said=(first,),
            times="times are means over iterations",
        )
        for op, found in rows.items()
    )


def _row(line: str, where: str, ranks: int) -> tuple[str, Row]:
    words = line.split()
    time = printed(words[2]) if len(words) == 3 and words[1].isdecimal() else None
    if time is None:
        refuse(where, f"{line[:60]!r} is not `operation bytes microseconds`")
    size = int(words[1])
    half = rates.of_time(words[0], ranks, size, time)
    return words[0], Row(
        where=where,
        bytes=size,
        count=None,
        dtype="int8",
        element_size=1,
        reduce_op=None,
        root=None,
        halves=(half,),
    )
