"""A measurement of pairs on one rank: round after round, until rank 0 knows enough.

A meeting that fails costs itself and nothing else: it has its own process group and deadlines, and who meets is
said in the store, which answers while a rank is missing. Over NCCL a call that hangs cannot be left, so there the
run ends, as it does when a rank dies; what was measured until then is saved.
"""

import re
import time
from collections.abc import Sequence

from msgspec import structs
from torch.distributed import Store

from nccltool.core.text import shortened
from nccltool.launch import events, instructions
from nccltool.launch.events import RankFacts
from nccltool.localize.encounter import Encounter
from nccltool.localize.pairs import rounds, units
from nccltool.localize.pairs.events import Encountered, RoundEnded, RoundsCut
from nccltool.localize.pairs.job import PairsJob
from nccltool.localize.pairs.time_left import TimeLeft
from nccltool.worker.agreement import CollectiveFailed
from nccltool.worker.pairs import meeting as meetings
from nccltool.worker.pairs import rail_choice
from nccltool.worker.pairs.board import MeetingBoard, MeetingResult
from nccltool.worker.pairs.meeting import Measurer, MeetingNetwork, PairMeeting
from nccltool.worker.rank.tools import RankTools

_PATIENCE = 0.4
"""Share of --timeout for which a meeting waits for a rank, or a call for a sign: it fails before the run does."""
_LONGEST_REASON = 200
_PLACE = re.compile(r"^\[(enforce fail at )?[^\]\s]+:\d+\]\s*(?(1)[^.]*\. )?")
"""Where in its sources, and the condition that it checked there."""
Names = tuple[str, ...]


class Rounds:
    """The rounds of a run, on this rank."""

    def __init__(
        self, job: PairsJob, tools: RankTools, store: Store, backend: str, facts: Sequence[RankFacts]
    ) -> None:
        """`facts`: of all ranks, on rank 0; elsewhere empty."""
        self._job, self._tools, self._backend = job, tools, backend
        self._rank, self._board = tools.group.rank, MeetingBoard(store)
        self._measurer = Measurer(job, tools, job.pairs.bytes_on(backend))
        self._patience_s = _PATIENCE * job.timeout_s
        self._rails: tuple[str | None, ...] = job.pairs.rails or (None,)
        self._said: list[Encounter] = []
        self._time = TimeLeft()
        if self._rank == 0:
            nodes = units.of_nodes(facts)
            self._board.put_units(units.meeting(nodes, job.pairs))
        self._units = {unit.name: unit for unit in tools.slot.watched(self._board.units)()}
        self._unit = next((unit.name for unit in self._units.values() if self._rank in unit.ranks), None)
        """None: this rank meets nobody, because other nodes have fewer ranks."""

    def run(self) -> None:
        """Until there is nothing more to measure."""
        meetings.leave()
        number, who = self._next(-1)
        while who:
            begin = time.monotonic()
            self._take_part(number, who)
            if self._rank == 0:
                self._collect(number, who, begin)
            number, who = self._next(number)

    def _next(self, number: int) -> tuple[int, tuple[Names, ...]]:
        """The next round; rank 0 decides it."""
        self._tools.slot.phase("between steps", allowance_s=self._longest_s())
        if self._rank == 0:
            self._board.put_round(number + 1, self._decided())
        return self._tools.slot.watched(lambda: self._board.round_after(number))()

    def _decided(self) -> tuple[Names, ...]:
        """Who meets next; nobody, if that would not end before the deadline."""
        decided = rounds.next_meetings(self._job.pairs, [*self._units.values()], self._said)
        if not decided or self._time.is_enough:
            return decided
        self._tools.channel.emit(RoundsCut(left_s=self._time.left_s or 0.0, round_s=self._time.next_s))
        return ()

    def _take_part(self, number: int, who: tuple[Names, ...]) -> None:
        for place, names in enumerate(who):
            if self._unit in names:
                meeting = PairMeeting(
                    round=number, members=tuple(self._units[name] for name in names), rank=self._rank
                )
                self._meet(meeting, place)

    def _meet(self, meeting: PairMeeting, place: int) -> None:
        slot, op, size = self._tools.slot, self._job.pairs.op, self._job.pairs.bytes_on(self._backend)
        slot.phase("between steps", meeting.round, allowance_s=self._patience_s)
        self._tools.injector.at("enter", op, size)
        label = f"round {meeting.round + 1} ({' - '.join(meeting.names)})"
        self._tools.channel.emit(events.Enter(rank=self._rank, step=meeting.round, op=op, bytes=size, label=label))
        encounters = tuple(one for part in range(len(self._rails)) for one in self._measured(meeting, place, part))
        if meeting.ranks[0] == self._rank != 0:  # rank 0 says it too, unless it hangs
            self._tools.channel.emit(*(one for one in encounters if one.busbw_bytes_per_s is not None))
        failed_here = all(one.busbw_bytes_per_s is None for one in encounters)
        if meeting.ranks[0] == self._rank or failed_here:
            self._board.tell(meeting.round, MeetingResult(meeting=place, encounters=encounters))

    def _measured(self, meeting: PairMeeting, place: int, part: int) -> tuple[Encountered, ...]:
        """Over one rail, or over what the library takes."""
        slot, size_of, rail = self._tools.slot, len(meeting.ranks), self._rails[part]
        inside_s = self._measurer.inside_s(size_of)
        timeout_s = self._patience_s + inside_s
        # one rank may know at once that a rail failed, and another only after its timeout
        patience_s = timeout_s if part else self._patience_s
        if part:
            slot.phase("between steps", meeting.round, allowance_s=patience_s)
        if not slot.watched(lambda: self._board.gather(meeting.round, place, size_of, patience_s, part))():
            reason = f"not all of its ranks came within {patience_s:.0f} s"
            return (_without_number(meeting.round, meeting.names, reason, rail),)
        slot.phase("connecting", allowance_s=self._patience_s)
        slot.allow(self._patience_s + inside_s)
        if self._backend == "nccl":  # it ends the process; the runner acts before, and names the culprit
            timeout_s = self._tools.contact.net_s or timeout_s
        store = self._board.within(meeting.round, place, part)
        way = MeetingNetwork(backend=self._backend, store=store, timeout_s=timeout_s)
        try:
            with rail_choice.only(rail, self._backend), meetings.group_of(meeting, way, self._tools) as group:
                return tuple(structs.replace(one, rail=rail) for one in self._measurer.measure(meeting, group))
        except CollectiveFailed as error:
            failed = _without_number(meeting.round, meeting.names, _plain(str(error.__cause__)), rail)
            if self._backend == "nccl":
                self._board.tell(meeting.round, MeetingResult(meeting=place, encounters=(failed,)))
                raise
            return (failed,)

    def _collect(self, number: int, who: tuple[Names, ...], begin: float) -> None:
        """Hear of all meetings of a round, and see to it that it is saved."""
        slot, patience_s = self._tools.slot, self._longest_s()
        slot.phase("between steps", number, allowance_s=patience_s)
        missing = slot.watched(lambda: self._board.listen(number, len(who), patience_s, self._hear))()
        for place in sorted(missing):
            reason = f"none of its ranks answered within {patience_s:.0f} s"
            self._hear(MeetingResult(meeting=place, encounters=(_without_number(number, who[place], reason),)))
        self._tools.channel.emit(RoundEnded(step=number, meetings=len(who), missing=len(missing)))
        slot.phase("waiting for the result to be saved")
        line = self._tools.channel.wait_for_line(self._job.timeout_s)
        if line is None:
            raise TimeoutError("the runner did not save the result in time")
        answer = instructions.decode(line) if line else None
        left_s = answer.left_s if isinstance(answer, instructions.Saved) else None
        self._time.note(time.monotonic() - begin, left_s)

    def _hear(self, met: MeetingResult) -> None:
        self._tools.channel.emit(*met.encounters)
        self._said += [event.encounter for event in met.encounters]
        self._tools.slot.tick()

    def _longest_s(self) -> float:
        """What a meeting may take that fails at its end."""
        ranks = self._job.pairs.group_size * max(len(unit.ranks) for unit in self._units.values())
        inside_s = self._measurer.inside_s(ranks)
        rails = len(self._rails)
        return (1 + rails) * self._patience_s + 3 * rails * (4 * inside_s + self._job.pairs.budget_s)


def _without_number(number: int, members: Names, reason: str, rail: str | None = None) -> Encountered:
    return Encountered(round=number, members=members, busbw_bytes_per_s=None, reason=reason, rail=rail)


def _plain(error: str) -> str:
    """The first line of what torch raised, without the place in its sources."""
    lines = _PLACE.sub("", error).strip().splitlines() or ["no reason was given"]
    return shortened(lines[0], _LONGEST_REASON)
