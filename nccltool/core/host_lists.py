"""Many host names in few letters: n[001-031,040], in the notation of Slurm and ClusterShell; racks in names.

Names come from snapshots of anybody: nothing in them is syntax here, as an @group would be for ClusterShell.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Set
from itertools import islice

from ClusterShell.RangeSet import RangeSet

_LAST_NUMBER = re.compile(r"^(.*?)([0-9]+)(\D*)$", re.DOTALL)
_IN_A_RACK = re.compile(r"(.*[0-9])[^0-9]+[0-9]+", re.ASCII | re.DOTALL)

_RANGE = re.compile(r"(\d{1,15})-(\d+)", re.ASCII)


def rack_in(host: str) -> str | None:
    """What is before the last word and number of a name: r12 of r12n03, rack-12 of rack-12-node-3. None = it has
    fewer than two numbers."""
    match = _IN_A_RACK.fullmatch(host[:_LONGEST].partition(".")[0])
    return match[1] if match else None


def has_wide_range(hosts: str, most: int) -> bool:
    """Whether a list such as n[1-9999999] has a range of more than `most`, which would take all memory."""
    return any(int(last[:16]) - int(first) >= most for first, last in _RANGE.findall(hosts))


def unfold(folded: str, most: int) -> list[str]:
    """The names that a folded text stands for; of more than `most`, one more than these. Raises ValueError."""
    from ClusterShell.NodeSet import NodeSet, NodeSetParseError

    try:
        return [str(name) for name in islice(NodeSet(folded), most + 1)]
    except NodeSetParseError as error:
        raise ValueError(str(error)) from error
    except ValueError as error:  # of its own code, for n[01-----4]
        raise ValueError("malformed range") from error


_LONGEST = 200
"""Characters of names in a sentence."""
_NAMED = 3
"""Of names that take more room."""


def briefly(names: Iterable[str]) -> str:
    """The names folded; of many that do not fold, the first and how many there are. For a sentence."""
    every = set(names)
    text = fold(every)
    if len(text) <= _LONGEST or len(every) <= _NAMED:
        return text
    return f"{fold(sorted(every)[:_NAMED])} and {len(every) - _NAMED} more"


def fold(names: Iterable[str]) -> str:
    """The names, each once, sorted; neighbours that differ in their last number become a range."""
    numbers: dict[tuple[str, str], set[str]] = defaultdict(set)
    folded = set()
    for name in names:
        if match := _LAST_NUMBER.match(name):
            numbers[match[1], match[3]].add(match[2])
        else:
            folded.add(name)
    folded |= {f"{before}{each}{after}" for (before, after), found in numbers.items() for each in _ranges(found)}
    return ",".join(sorted(folded))


def _ranges(numbers: Set[str]) -> Iterator[str]:
    """9 and 10 are one range without padding, 09 and 10 one with it. Slurm reads one width in a range, so that
    numbers as wide as a padded one belong to it, and all others to one without padding."""
    padded = {len(number) for number in numbers if number.startswith("0") and number != "0"}
    widths = {number: len(number) if len(number) in padded else 0 for number in numbers}
    for width in sorted(set(widths.values())):
        same = [number for number in numbers if widths[number] == width]
        text = str(RangeSet(",".join(same)))
        yield f"[{text}]" if len(same) > 1 else text
