"""Asks NCCL's RAS on this host, where that is allowed: a query has crashed jobs of some versions."""

from collections.abc import Callable, Iterator, Sequence

from nccltool.attach.look import nccl_version
from nccltool.attach.look.order import RasQuery
from nccltool.attach.ras import address
from nccltool.attach.ras.client import RasAnswer, RasOrder, ask
from nccltool.attach.ras.danger import permission
from nccltool.attach.seen.job import Unread
from nccltool.attach.seen.ranks import RankFound
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.hosts.facts.leaves import or_none
from nccltool.hosts.sources.base import Tree

BETWEEN_S = 3.0
"""Counts that are equal in two answers so far apart do not move."""
WHAT = "NCCL's RAS"


def asked(
    query: RasQuery, ranks: Sequence[RankFound], tree: Tree, wait: Callable[[float], None]
) -> tuple[tuple[RasAnswer, ...], tuple[Unread, ...]]:
    """Two answers, or why there are fewer."""
    if not ranks:
        return (), ()
    reason, missing = _refusal(query, ranks, tree)
    if reason:
        return (), (_unread(ranks[0], reason, missing),)
    answers = tuple(_answers(ranks, wait))
    failed = [one.reason for one in answers if one.document is None]
    return answers, tuple(_unread(ranks[0], reason) for reason in failed[:1])


def _answers(ranks: Sequence[RankFound], wait: Callable[[float], None]) -> Iterator[RasAnswer]:
    """The second time only if the first one was answered: each query is a risk."""
    place = address.of_job(ranks[0].setting("NCCL_RAS_ADDR"))
    pids = [rank.pid for rank in ranks]
    members = [rank.inner_pids[-1] if rank.inner_pids else rank.pid for rank in ranks]
    first = ask(place, RasOrder(), pids=pids, members=members)
    yield first
    if first.document is not None:
        wait(BETWEEN_S)
        yield ask(place, RasOrder(), pids=pids, members=members)


def _refusal(query: RasQuery, ranks: Sequence[RankFound], tree: Tree) -> tuple[str, str]:
    """Why it is not asked, and what would help; empty = it may be asked."""
    rank = ranks[0]
    if rank.setting("NCCL_RAS_ENABLE") == "0":
        return "the job has NCCL_RAS_ENABLE=0", ""
    try:
        address.of_job(rank.setting("NCCL_RAS_ADDR"))
    except ValueError as error:
        return str(error), ""
    space, here = or_none(tree.link(f"/proc/{rank.pid}/ns/net")), or_none(tree.link("/proc/self/ns/net"))
    if space is not None and here is not None and space != here:
        return "the ranks have a network namespace of their own", "run it inside their container"
    versions = [nccl_version.of(one.pid, tree) for one in ranks]
    known = [one for one in versions if not isinstance(one, Unknown)]
    oldest: Version | None = min(known) if len(known) == len(versions) else None
    allowed = permission(oldest, initializing=query.initializing, stuck=True, opted_in=query.takes_risk)
    if allowed.allowed:
        return "", ""
    could = permission(oldest, initializing=query.initializing, stuck=True, opted_in=True).allowed
    return allowed.reason, "--ras always, which takes that risk" if could else ""


def _unread(rank: RankFound, reason: str, missing: str = "") -> Unread:
    return Unread(what=WHAT, reason=reason, missing=missing, host=rank.host)
