"""JUDGE whose fault a run's end is, from how its ranks ended and what their last words were.

Evidence, strongest first: a rank whose GPU or host failed, that raised outside of communication, or that died
without having said that others are gone; ranks that somebody ended by SIGTERM; then, among echoes only, the rank
that did not come. Where nothing of that is there, nobody is named: errors of communication are echoes.
"""

import enum
import math
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from nccltool.hosts.sources import net
from nccltool.launch.allowances import UNHEARD_S
from nccltool.launch.last_words import Sign, Whose
from nccltool.launch.run_state import ENDED, RankState, RunState

GOT_OVER_S = 5.0
"""A rank that got on so long after a line has got over what it tells of; NCCL's watchdog looks every second."""
STILL_S = 2.0
"""A rank outside of communication is late when it has not moved for so long: its supervisor looks each second."""
ECHOES_S = 5.0
"""How long to listen while only echoes have come: elastic takes a while to see that a supervisor of its own is
dead."""
SOON_S = 0.5
"""What fails later than this after the first fault may be its consequence."""


class Role(enum.Enum):
    """What a rank's end says about whose fault it is."""

    OWN = enum.auto()
    PERHAPS_OWN = enum.auto()
    """Its own, unless it is known of another rank that it is its fault."""
    TERMINATED = enum.auto()
    """Somebody sent SIGTERM to it, or another signal that asks for the end."""
    TOLD = enum.auto()
    """Its agent, a launcher or a scheduler ended it: because of another rank, or with the whole job."""
    WAITED = enum.auto()
    LOST = enum.auto()


@dataclass(frozen=True, slots=True)
class RankEnd:
    """How a rank ended, or would end with what it has said."""

    role: Role
    sign: Sign | None = None
    said: str = ""
    """The line that has the sign."""

    @property
    def is_echo(self) -> bool:
        return self.role in (Role.WAITED, Role.LOST)


@dataclass(frozen=True, slots=True)
class Absent:
    """Ranks that the others waited for, and how that is known."""

    ranks: tuple[RankState, ...]
    reason: str


def end_of(state: RankState) -> RankEnd:
    """What the end of a rank that failed or died says."""
    if state.failed is not None and state.failed.of_plugin:
        return RankEnd(Role.OWN)
    signs = [(one.sign, one.text) for one in state.words.since(_stuck_since(state))]
    if state.failed is not None and state.raised is not None:
        signs.append((state.raised, state.failed.text))
    echo = next((one for one, _ in signs if one.is_echo), None)
    for number, (sign, text) in enumerate(signs):
        if sign.whose is Whose.HARDWARE or (sign.whose is Whose.OWN and not _has_echo(signs[:number])):
            return RankEnd(Role.OWN, sign, text)
    for sign, text in signs:
        if not sign.is_echo:
            return RankEnd(Role.PERHAPS_OWN, sign, text)
    if state.failed is None and state.exit_code in ENDED:
        return RankEnd(Role.TOLD if state.was_told else Role.TERMINATED)
    if echo is not None:
        return RankEnd(Role.WAITED if echo.whose is Whose.WAITED else Role.LOST, echo)
    if state.failed is not None and state.failed.in_collective:
        return RankEnd(Role.LOST)
    # what asserts says so; a watchdog's log may be lost
    aborted_silently = state.died and state.exit_code == -signal.SIGABRT and not state.log
    return RankEnd(Role.PERHAPS_OWN if aborted_silently else Role.OWN)


def _has_echo(signs: Sequence[tuple[Sign, str]]) -> bool:
    return any(sign.is_echo for sign, _ in signs)


def faulted(run: RunState) -> list[RankState]:
    """Ranks that failed or died, in that order."""
    return [run.ranks[rank] for rank in run.faults]


def own(run: RunState) -> list[RankState]:
    """Ranks whose own fault it surely is, in the order in which they failed or died."""
    return [state for state in faulted(run) if end_of(state).role is Role.OWN]


def has_own(run: RunState) -> bool:
    """Whether there is one; asked again and again while thousands fail."""
    return any(end_of(state).role is Role.OWN for state in faulted(run))


def troubled(run: RunState) -> list[RankState]:
    """Living ranks whose log says that their GPU or host failed, and that have not got on since."""
    living = [state for _, state in sorted(run.ranks.items()) if not state.ended]
    return [state for state in living if (end := end_of(state)).sign is not None and end.role is Role.OWN]


def perhaps_own(run: RunState) -> list[RankState]:
    """Ranks whose own fault it may be, as they failed before others had only echoes to tell."""
    those = [state for state in faulted(run) if end_of(state).role is Role.PERHAPS_OWN]
    if len(those) == len(run.faults):
        return those
    soon = min((state.fault_at or 0.0 for state in faulted(run)), default=0.0) + SOON_S
    return [state for state in those if run.one_clock and (state.fault_at or 0.0) <= soon]


def terminated(run: RunState) -> list[RankState]:
    """Ranks that somebody from outside ended by SIGTERM, past those who start and end ranks."""
    return [state for state in faulted(run) if end_of(state).role is Role.TERMINATED]


def were_told(run: RunState) -> list[RankState]:
    """Ranks that were ended by their agent, a launcher or a scheduler."""
    return [state for state in faulted(run) if end_of(state).role is Role.TOLD]


def absent(run: RunState) -> Absent | None:
    """The ranks that did not come, where those that ended only echo that; None = none stands out."""
    echoes = [state for state in faulted(run) if end_of(state).is_echo]
    others = [state for _, state in sorted(run.ranks.items()) if _can_be_waited_for(state)]
    if not echoes:
        return None
    found = next((one for one in _absences(run, others, echoes) if one.ranks), None)
    return found if found and len(found.ranks) <= max(1, len(run.ranks) // 2) else None


def untold(run: RunState) -> list[RankState]:
    """Ranks that are gone without their supervisors' word, which tell of every end unless something kills them."""
    states = [state for _, state in sorted(run.ranks.items())]
    gone = [state for state in states if state.pid and not state.ended and state.fault_at is None]
    ended_on = {state.host for state in states if state.ended}
    # of another host, only whose connections were closed: one that is cut off is not dead
    waited = any(end_of(state).role is Role.WAITED for state in faulted(run))
    gone = [state for state in gone if not waited or state.host in ended_on]
    return gone if run.all_was_told and ended_on and len(gone) <= max(1, len(states) // 2) else []


def echoes_s(run: RunState) -> float:
    """How long to listen after the first fault while only echoes have come. Who is silent may be the culprit."""
    return UNHEARD_S if run.faults and any(_unheard(run)) else ECHOES_S


def _unheard(run: RunState) -> Iterator[RankState]:
    """Ranks of which nothing has come since the first fault."""
    first = run.fault_at if run.fault_at is not None and run.one_clock else -math.inf
    quiet = (state for _, state in sorted(run.ranks.items()) if state.heard_at <= first and not state.ended)
    return filter(_can_be_waited_for, quiet)


def _can_be_waited_for(state: RankState) -> bool:
    """Whether it has not said itself that it waits, nor is done."""
    return not state.said_bye and not (state.fault_at is not None and end_of(state).is_echo)


def _absences(run: RunState, others: Sequence[RankState], echoes: Sequence[RankState]) -> Iterator[Absent]:
    living = [state for state in others if not state.ended]
    yield Absent(
        tuple(state for state in living if state.is_stopped),
        "its process is stopped (state T): something sent it SIGSTOP",
    )
    yield silent(run)
    if run.one_clock:
        yield _late(others, echoes)
    yield _behind(run)


def silent(run: RunState) -> Absent:
    """Of whom nothing came for longer than living ranks' supervisors are silent."""
    latest = max(run.listened_until, *(state.heard_at for state in run.ranks.values()))
    states = tuple(state for state in _unheard(run) if state.heard_at < latest - UNHEARD_S)
    hosts = ", ".join(dict.fromkeys(state.host for state in states))
    return Absent(states, f"{hosts} sent nothing after that: down, or cut off from the network")


def _late(others: Sequence[RankState], echoes: Sequence[RankState]) -> Absent:
    """Where connections break, those that are at work have only not noticed yet."""
    first = min(state.fault_at or 0.0 for state in echoes)
    waited = all(end_of(state).role is Role.WAITED for state in echoes)
    late = [s for s in others if waited and s.beat and not s.inside_call and s.moved_at <= first - STILL_S]
    return Absent(tuple(late), "it was not in a communication call, but the others were waiting in one")


def _behind(run: RunState) -> Absent:
    """Those that have not made the call in which others waited, as torch counted for each."""
    waited = [state.words.timed_out for state in run.ranks.values() if state.words.timed_out is not None]
    call = min(waited, default=0)
    made = {rank: state.words.last_enqueued for rank, state in sorted(run.ranks.items())}
    late = (run.ranks[rank] for rank, count in made.items() if count is not None and count < call)
    return Absent(
        tuple(late), f"it had not made call {call}, where the others were waiting (by its last enqueued work)"
    )


@dataclass(frozen=True, slots=True)
class SuspectHost:
    """A host whose connections broke, and how that is known."""

    host: str
    reason: str


_TOGETHER_S = 5.0
"""Connections that break within it break for one reason; those that were aborted in consequence follow later: an
InfiniBand retry takes some 30 s with NCCL's defaults."""


def suspect_host(run: RunState) -> SuspectHost | None:
    """The one host that was at an end of all connections that broke first; None = no host stands out."""
    states = run.ranks.values()
    ports = {(s.host, port) for s in states for port, at in s.words.port_errors if at >= _stuck_since(s)}
    hosts = {host for host, _ in ports}
    if len(hosts) == 1:
        named = ", ".join(sorted(port for _, port in ports))
        return SuspectHost(hosts.pop(), f"an InfiniBand port there went down: {named}")
    told = [(one.at, s.host, one.peer) for s in states for one in s.words.broken if one.at >= _stuck_since(s)]
    first, names = min((at for at, _, _ in told), default=0.0), _hosts_by_name(run)
    early = [(host, peer) for at, host, peer in told if at <= first + _TOGETHER_S]
    ends = {frozenset((host, names.get(peer) or names.get(_short(peer), peer))) for host, peer in early}
    ends = {pair for pair in ends if len(pair) == 2}
    known = len(ends) > 1 and not ports and run.one_clock
    common = frozenset.intersection(*ends) if known else frozenset()
    if len(common) != 1:
        return None
    (host,) = common
    others = sorted(name for pair in ends for name in pair - common)
    return SuspectHost(
        host, f"its connections to {', '.join(others)} failed first; no other connections failed then"
    )


def _stuck_since(state: RankState) -> float:
    """What its log says before, the rank has got over."""
    return state.moved_at - GOT_OVER_S


def _hosts_by_name(run: RunState) -> dict[str, str]:
    """The hosts by their names, the short ones too, and by their addresses."""
    found: dict[str, str] = {}
    for state in run.ranks.values():
        addresses = (state.facts.host_addresses or ()) if state.facts else ()
        found |= dict.fromkeys((state.host, _short(state.host), *addresses), state.host)
    return found


def _short(name: str) -> str:
    """A host's name without its domain; an address has none."""
    return name if net.is_address(name) else name.partition(".")[0]
