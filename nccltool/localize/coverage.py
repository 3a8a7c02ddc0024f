"""How many of the links between nodes were measured: a slow one that no round met cannot be seen. Pure."""

from collections import Counter
from dataclasses import dataclass

from nccltool.core.text import counted
from nccltool.localize import within
from nccltool.localize.localized import LocalizedRun

_PAIR = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """Links with a bandwidth, and all that there are."""

    measured: int
    links: int

    @property
    def unseen(self) -> int:
        return self.links - self.measured


def of(run: LocalizedRun) -> Coverage | None:
    """A link counts if it has a bandwidth, in both directions if they were measured apart; None: no two met."""
    pairs = [one for one in run.encounters if len(one.members) == _PAIR]
    if not pairs:
        return None
    ways: set[tuple[str, ...]] = set()
    for one in pairs:
        if one.busbw_bytes_per_s is not None:
            ways |= {one.members} if one.is_directed else {one.members, one.members[::-1]}
    return Coverage(measured=sum(way[::-1] in ways for way in ways) // 2, links=_links(run))


def unseen_text(run: LocalizedRun) -> str:
    """`1824 of 2016 links were not measured`; empty: all were."""
    covered = of(run)
    if covered is None or not covered.unseen:
        return ""
    was = "was" if covered.unseen == 1 else "were"
    return f"{covered.unseen} of {counted(covered.links, 'link')} {was} not measured"


def _links(run: LocalizedRun) -> int:
    """Ranks are linked inside their node only."""
    names = {name for one in run.encounters for name in one.members}
    if run.is_within:
        return sum(map(_among, Counter(map(within.home_of, names)).values()))
    return _among(max(len(names), run.info.nodes or 0))


def _among(count: int) -> int:
    return count * (count - 1) // 2
