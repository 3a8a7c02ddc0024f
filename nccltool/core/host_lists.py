"""Many host names in few letters: n[001-031,040], in the notation of Slurm and ClusterShell.

Names come from snapshots of anybody: nothing in them is syntax here, as an @group would be for ClusterShell.
"""

import re
from collections.abc import Iterable

_LAST_NUMBER = re.compile(r"^(.*?)(\d+)(\D*)$", re.DOTALL)


def fold(names: Iterable[str]) -> str:
    """The names, each once, sorted; neighbours that differ in their last number become a range."""
    groups: dict[tuple[str, str, int], set[int]] = {}
    plain = set()
    for name in names:
        match = _LAST_NUMBER.match(name)
        if match is None or not match[2].isascii():
            plain.add(name)
            continue
        digits = match[2]
        # 9 and 10 are one range without padding, 09 and 10 one with it; so are 0 and 1
        width = len(digits) if digits.startswith("0") and digits != "0" else 0
        groups.setdefault((match[1], match[3], width), set()).add(int(digits))
    _join_padded(groups)
    folded = [_group(before, after, width, numbers) for (before, after, width), numbers in groups.items()]
    return ",".join(sorted([*folded, *plain]))


def _join_padded(groups: dict[tuple[str, str, int], set[int]]) -> None:
    """n010 is written like n999: numbers as wide as a padded group belong to it."""
    for before, after, width in [key for key in groups if key[2]]:
        bare = groups.get((before, after, 0))
        if bare is None:
            continue
        wide = {number for number in bare if len(str(number)) == width}
        groups[before, after, width] |= wide
        bare -= wide
        if not bare:
            del groups[before, after, 0]


def _group(before: str, after: str, width: int, numbers: set[int]) -> str:
    ranges = [_range(first, last, width) for first, last in _runs(sorted(numbers))]
    if len(numbers) == 1:
        return f"{before}{ranges[0]}{after}"
    return f"{before}[{','.join(ranges)}]{after}"


def _range(first: int, last: int, width: int) -> str:
    return f"{first:0{width}}" if first == last else f"{first:0{width}}-{last:0{width}}"


def _runs(numbers: list[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
