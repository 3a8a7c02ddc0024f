"""From a question to what the history says: `nccltool history`, of all hosts, a host, a check, or an operation."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nccltool.core.unknown_names import unknown
from nccltool.history import judge, wording
from nccltool.history.queries import HistoryReader, Line, StoredRun, StoredTrouble, StoredVisit, by_host, reading
from nccltool.history.result import HistoryAnswer, HostRecord, Question, RepeatOffence, Trend, TrendPoint

OF_ALL_S, DRIFT_OF_ALL_S = 365 * 86400.0, 90 * 86400.0
"""Of many hosts, only the newest runs count, and fewer for drift: all that there is can be asked of one host."""
_REPEATED = 2
_WAIT_S = 5.0
"""How long a run waits for writers before it shows its result without the history."""


def ask(file: Path, word: str, since: float) -> HistoryAnswer:
    """What the runs since a Unix time say; an empty word asks about all hosts. Raises BadInput."""
    with reading(file) as reader:
        question, begin = _question(reader, word), int(since * 1000)
        if question != "host":
            begin = max(begin, reader.newest() - int(OF_ALL_S * 1000))
        return _Asked(file, reader, begin, word, question).answer()


def seen_before(file: Path, wanted: Collection[tuple[str, str]], since: float) -> Mapping[tuple[str, str], str]:
    """By host (empty = all together) and check, how often it did not pass since a Unix time; nothing of hosts that
    no run was on. Raises BadInput."""
    found = {}
    with reading(file, _WAIT_S) as reader:
        begin = int(since * 1000)
        runs = reader.runs(begin)
        every = [StoredVisit(at, "unknown", "") for at in runs]
        visits = reader.visits(begin, {host for host, _ in wanted})
        for check in sorted({check for _, check in wanted}):
            troubles = by_host(reader.troubles(begin, check=check))
            for host in sorted(host for host, one in wanted if one == check):
                mine = visits.get(host, ()) if host else every
                if failed := troubles.get((host, check)):
                    first = reader.first_seen(host, check)
                    seen = reader.versions_until(host, first)
                    found[host, check] = wording.repeated(judge.offence(failed, mine, runs, first, seen))
                elif mine:
                    found[host, check] = wording.unseen(len(mine), judge.when(mine[0].at))
    return found


@dataclass(frozen=True, slots=True)
class _Asked:
    file: Path
    reader: HistoryReader
    since: int
    word: str
    question: Question

    def answer(self) -> HistoryAnswer:
        question = self.question
        runs = self.reader.runs(self.since)
        troubles = self._troubles(question)
        lines = self._lines(question)
        named = {one.host for one in troubles} | {host for host, _ in lines} - {""}
        hosts = {"all": None, "host": [self.word], "check": named, "operation": named}[question]
        visits = self.reader.visits(self.since, hosts)
        values = self.reader.values(self._of_drift(question), lines)
        counted = list(runs)
        records = [judge.host_record(host, mine) for host, mine in visits.items()]
        return HistoryAnswer(
            file=str(self.file),
            question=question,
            word=self.word,
            since=judge.when(self.since),
            runs=len(counted),
            first=judge.when(counted[0]) if counted else "",
            last=judge.when(counted[-1]) if counted else "",
            series=len(values),
            hosts=tuple(sorted(records, key=_badness)) if question in ("all", "host") else (),
            offences=self._offences(question, troubles, visits, runs),
            drifts=judge.drifts(values, visits, runs),
            trends=()
            if question == "all"
            else tuple(
                Trend(
                    host=host,
                    series=series,
                    points=tuple(
                        TrendPoint(at=judge.when(one.at), value=one.value, run=runs[one.at].id) for one in mine
                    ),
                )
                for (host, series), mine in values.items()
            ),
        )

    def _troubles(self, question: Question) -> Sequence[StoredTrouble]:
        match question:
            case "host":
                return self.reader.troubles(self.since, host=self.word)
            case "check":
                return self.reader.troubles(self.since, check=self.word)
            case "operation":
                return ()
        return self.reader.troubles(self.since)

    def _lines(self, question: Question) -> list[Line]:
        every = self.reader.lines()
        match question:
            case "host":
                return [line for line in every if line[0] == self.word]
            case "check":
                return [line for line in every if line[1].name == self.word]
            case "operation":
                return [line for line in every if line[1].of == self.word]
        return list(every)

    def _of_drift(self, question: Question) -> int:
        """From when on values count."""
        if question == "host":
            return self.since
        return max(self.since, self.reader.newest() - int(DRIFT_OF_ALL_S * 1000))

    def _offences(
        self,
        question: Question,
        troubles: Sequence[StoredTrouble],
        visits: Mapping[str, Sequence[StoredVisit]],
        runs: Mapping[int, StoredRun],
    ) -> tuple[RepeatOffence, ...]:
        every = [StoredVisit(at, "unknown", "") for at in runs]
        found = []
        for (host, check), mine in by_host(troubles).items():
            if question == "all" and len(mine) < _REPEATED:
                continue
            first = self.reader.first_seen(host, check)
            seen = self.reader.versions_until(host, first)
            found.append(judge.offence(mine, visits.get(host, ()) if host else every, runs, first, seen))
        return tuple(sorted(found, key=_telling))


def _question(reader: HistoryReader, word: str) -> Question:
    """What a word names. Raises BadInput when it is not known."""
    if not word:
        return "all"
    known: Mapping[Question, Collection[str]] = {
        "host": reader.hosts,
        "operation": reader.operations,
        "check": reader.checks,
    }
    for question, names in known.items():
        if word in names:
            return question
    raise unknown(
        "host, operation, or check",
        word,
        sorted({name for names in known.values() for name in names}),
        where="in the history",
    )


def _badness(one: HostRecord) -> tuple[object, ...]:
    return -one.failed / one.runs, not one.is_flapping, one.host


def _telling(one: RepeatOffence) -> tuple[object, ...]:
    return not one.host, -one.proven, -one.alone, -one.times, one.host, one.check
