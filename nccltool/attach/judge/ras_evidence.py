"""What RAS adds: ranks that launched fewer operations, twice; ranks that do not answer; operations that cross."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nccltool.attach.ras.document import RasCommunicator, RasDocument, RasProcess
from nccltool.attach.seen.job import HostLook, JobLook


@dataclass(frozen=True, kw_only=True, slots=True)
class RasEvidence:
    """Ranks are those of the job; what could not be mapped is left out."""

    answered: bool = False
    frozen: bool | None = None
    """Whether no count rose between two answers; None = fewer than two."""
    is_unequal: bool = False
    """Whether some communicator has unequal counts, the same in both answers."""
    last: frozenset[int] = frozenset()
    """Ranks with the lowest count in a communicator with unequal counts."""
    first: frozenset[int] = frozenset()
    crossed: tuple[tuple[str, frozenset[int]], ...] = ()
    """Operation -> ranks ahead in it, where two groups are each ahead in another operation."""
    silent: frozenset[int] = frozenset()
    dead: frozenset[int] = frozenset()
    errors: tuple[str, ...] = ()
    initializing: bool = False
    operations_per_s: float | None = None
    """Launched in the communicator that has most of them; None = fewer than two answers of one host."""


def of_answers(look: JobLook) -> RasEvidence:
    documents = [
        answer.document
        for host in look.hosts
        for answer in host.ras
        if answer.document is not None and answer.belongs is not False
    ]
    if not documents:
        return RasEvidence()
    numbers = _Numbers(look)
    last = documents[-1]
    frozen = None if len(documents) < 2 else _counts(documents[-2]) == _counts(last)
    unequal = [one for one in last.communicators if _is_unequal(one)] if frozen else []
    missing = [rank for one in last.communicators for rank in one.missing if rank.unresponsive]
    return RasEvidence(
        answered=True,
        frozen=frozen,
        is_unequal=bool(unequal),
        last=numbers.ranks(process for one in unequal for process in _extreme(one, highest=False)),
        first=numbers.ranks(process for one in unequal for process in _extreme(one, highest=True)),
        crossed=next((found for one in unequal if (found := _crossed(one, numbers))), ()),
        silent=numbers.ranks((*last.silent, *(one.process for one in missing if not one.considered_dead))),
        dead=numbers.ranks((*last.dead, *(one.process for one in missing if one.considered_dead))),
        errors=tuple(f"{part.error} on {part.ranks} ranks" for one in last.communicators for part in one.errors),
        operations_per_s=max((rate for host in look.hosts for rate in _rates(host)), default=None),
        initializing=any(part.status == "INIT" for one in last.communicators for part in one.statuses),
    )


def _rates(host: HostLook) -> Iterator[float]:
    """Of each communicator that both of the last two answers of a host have."""
    answers = [one for one in host.ras if one.document is not None and one.belongs is not False][-2:]
    if len(answers) < 2 or answers[1].at_s <= answers[0].at_s:
        return
    before, after = (_launched(one.document) for one in answers if one.document is not None)
    for communicator, count in after.items():
        if count >= before.get(communicator, count + 1):
            yield (count - before[communicator]) / (answers[1].at_s - answers[0].at_s)


def _launched(document: RasDocument) -> dict[str, int]:
    """Operations of all kinds, of the rank that is ahead in each."""
    return {
        one.hash: sum(max(count for count, _, _ in sets) for sets in _by_operation(one).values())
        for one in document.communicators
    }


class _Numbers:
    """From host and pid, as RAS has them, to ranks of the job: ranks of communicators are others."""

    def __init__(self, look: JobLook) -> None:
        self.by_pid: dict[int, list[tuple[frozenset[str], int]]] = {}
        for _, one in look.ranks():
            if one.rank is not None:
                inner = one.inner_pids[-1] if one.inner_pids else one.pid
                self.by_pid.setdefault(inner, []).append((frozenset(one.addresses), one.rank))

    def ranks(self, processes: "Iterator[RasProcess] | Sequence[RasProcess]") -> frozenset[int]:
        return frozenset(rank for one in processes if (rank := self.rank(one)) is not None)

    def rank(self, process: RasProcess) -> int | None:
        if process.pid is None:
            return None
        there = self.by_pid.get(process.pid, [])
        exact = [rank for addresses, rank in there if process.host in addresses]
        unknown = [rank for addresses, rank in there if not addresses]
        return exact[0] if exact else unknown[0] if len(there) == 1 and unknown else None


def _counts(document: RasDocument) -> dict[str, tuple[tuple[str, int, int], ...]]:
    return {
        one.hash: tuple((part.operation, part.count, part.ranks) for part in one.counts)
        for one in document.communicators
    }


def _by_operation(one: RasCommunicator) -> dict[str, list[tuple[int, int, tuple[RasProcess, ...]]]]:
    found: dict[str, list[tuple[int, int, tuple[RasProcess, ...]]]] = {}
    for part in one.counts:
        found.setdefault(part.operation, []).append((part.count, part.ranks, part.members))
    return found


def _is_unequal(one: RasCommunicator) -> bool:
    return any(len(sets) > 1 for sets in _by_operation(one).values())


def _extreme(one: RasCommunicator, *, highest: bool) -> Iterator[RasProcess]:
    """Members of the lowest or highest set of each operation whose counts differ, where all of them are named."""
    for sets in _by_operation(one).values():
        if len(sets) > 1:
            _, ranks, members = (max if highest else min)(sets, key=lambda part: part[0])
            if len(members) == ranks:
                yield from members


def _crossed(one: RasCommunicator, numbers: _Numbers) -> tuple[tuple[str, frozenset[int]], ...]:
    """A is ahead in one operation and B in another: they took different turns."""
    ahead = []
    for operation, sets in _by_operation(one).items():
        if len(sets) == 2:
            _, size, members = max(sets, key=lambda part: part[0])
            if len(members) == size:
                ahead.append((operation, numbers.ranks(members)))
    for operation, ranks in ahead:
        for other, others in ahead:
            if operation < other and ranks and others and not ranks & others:
                return ((operation, ranks), (other, others))
    return ()
