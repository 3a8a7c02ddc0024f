"""The stacks of all ranks as one tree: where ranks part is where they differ."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

from nccltool.attach.seen.job import JobLook
from nccltool.attach.seen.process import StackFrame

_MOST_NAMED = 8


@dataclass(slots=True)
class _Node:
    ranks: list[str] = field(default_factory=list)
    below: dict[str, "_Node"] = field(default_factory=dict)


def lines(look: JobLook) -> list[str]:
    """A line for each place where ranks are, outermost first, with the ranks below it."""
    root = _Node()
    for host in look.hosts:
        ranks = {rank.pid: str(rank.rank) if rank.rank is not None else f"pid {rank.pid}" for rank in host.ranks}
        for one in host.samples[-1].ranks if host.samples else ():
            stacks = [stack for stack in one.stacks if stack.trains and stack.pid == one.pid]
            if stacks and one.pid in ranks:
                _add(root, ranks[one.pid], stacks[-1].frames)
    return list(_drawn(root, 0))


def _add(root: _Node, rank: str, frames: tuple[StackFrame, ...]) -> None:
    node = root
    for frame in reversed(frames):
        place = f"{frame.name} ({PurePath(frame.file).name}{'' if frame.line is None else f':{frame.line}'})"
        node = node.below.setdefault(place, _Node())
        node.ranks.append(rank)


def _drawn(node: _Node, depth: int) -> Iterator[str]:
    """Frames that all ranks of a branch go through are on one line."""
    for place, below in sorted(node.below.items(), key=lambda item: -len(item[1].ranks)):
        chain = [place]
        while len(below.below) == 1 and len(next(iter(below.below.values())).ranks) == len(below.ranks):
            ((more, below),) = below.below.items()
            chain.append(more)
        yield f"{'  ' * depth}{_named(below.ranks)}: {' > '.join(_shortened(chain))}"
        yield from _drawn(below, depth + 1)


def _shortened(chain: list[str]) -> list[str]:
    """Of a long way the ends."""
    return chain if len(chain) <= 6 else [*chain[:3], f"... {len(chain) - 5} more ...", *chain[-2:]]


def _named(ranks: list[str]) -> str:
    shown = ", ".join(ranks[:_MOST_NAMED]) + (", ..." if len(ranks) > _MOST_NAMED else "")
    many = len(ranks) != 1 or not ranks[0].isdecimal()
    return f"{len(ranks)} ranks ({shown})" if len(ranks) > 1 else f"rank {shown}" if not many else shown
