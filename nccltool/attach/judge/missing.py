"""Ranks that should be on hosts that were looked at, and are not there."""

from collections.abc import Iterator
from dataclasses import dataclass

from nccltool.attach.seen.job import EmptyHost, HostLook, JobLook


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingRank:
    """One of them."""

    rank: int
    host: str
    """Empty = one of several hosts."""
    is_certain: bool = True
    """False: the host has no other rank of the job; that it ever had this one follows from the numbers."""
    told: str = "its process is missing on its host"


def missing_ranks(look: JobLook) -> tuple[MissingRank, ...]:
    """By number."""
    found = {one.rank: one for host in look.hosts for one in _beside_others(host)}
    for one in _of_empty_hosts(look, frozenset(found)):
        found.setdefault(one.rank, one)
    return tuple(found[rank] for rank in sorted(found))


def _beside_others(host: HostLook) -> Iterator[MissingRank]:
    """Their numbers follow from those of the other ranks of their host."""
    present: dict[int, set[int]] = {}
    sizes: dict[int, int] = {}
    for one in host.ranks:
        if one.rank is None or one.local_rank is None or one.local_world_size is None:
            continue
        first = one.rank - one.local_rank
        present.setdefault(first, set()).add(one.rank)
        sizes[first] = one.local_world_size
    for first, size in sizes.items():
        for rank in range(first, first + size):
            if rank not in present[first]:
                yield MissingRank(rank=rank, host=host.host)


def _of_empty_hosts(look: JobLook, found: frozenset[int]) -> Iterator[MissingRank]:
    """Hosts that have no rank at all have those that nobody else has, if the numbers agree."""
    named = [rank for _, rank in look.ranks()]
    if not look.empty or look.unreached or look.world_size is None or any(one.rank is None for one in named):
        return
    absent = sorted(frozenset(range(look.world_size)) - {one.rank for one in named} - found)
    if len(absent) != len(look.empty) * _on_each(look):
        return
    is_one = len(look.empty) == 1
    places = ", ".join(sorted(one.host for one in look.empty)[:8])
    told = f"{places} {'has' if is_one else 'have'} none of the job's ranks"
    masters = {one.master for one in named}
    for rank in absent:
        is_of_store = is_one and rank == 0 and _has_store(look.empty[0], masters)
        host = look.empty[0].host if is_one else ""
        yield MissingRank(rank=rank, host=host, is_certain=is_of_store, told=told)


def _on_each(look: JobLook) -> int:
    sizes = {rank.local_world_size for _, rank in look.ranks() if rank.local_world_size is not None}
    return max((*sizes, *(len(host.ranks) for host in look.hosts)), default=0)


def _has_store(host: EmptyHost, masters: set[str]) -> bool:
    """The store is where rank 0 is, unless a launcher puts it elsewhere."""
    addresses = {master.rpartition(":")[0].strip("[]") for master in masters}
    return bool(addresses) and addresses <= {host.host, *host.addresses}
