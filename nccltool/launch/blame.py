"""JUDGE a run that did not complete: which rank, and why we think so.

Evidence, strongest first: a rank that raised outside of communication or died without a word; a rank that
never came; one that is not heard any more; a process that is stopped; a rank that is outside of communication
while others are inside.
Errors that collectives raise on the surviving ranks are echoes and name nobody.
"""

import re
import signal
from collections.abc import Sequence

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import listed, named
from nccltool.core.units import format_bytes
from nccltool.launch import finding_kinds
from nccltool.launch.events import AgentKilled
from nccltool.launch.run_state import SIGTERM_EXIT, RankState, RunState

_OTHERS_SHOWN = 4
_NAMED = 8
"""Of ranks or hosts: there may be thousands."""
_FRAMES_SHOWN = 9
_OF_ITS_HOST = re.compile(
    "Too many open files|Cannot allocate memory|[Oo]ut of memory|No space left on device|No buffer space available"
)
"""What a communication call says when its own host lacks something: no echo of what happened to another rank."""


def after_fault(run: RunState) -> Finding | None:
    """The culprit when a rank failed or died; None when no rank did."""
    if run.agents_killed:  # its ranks went down with it; what they or others still said are echoes
        return _agent_killed(run, run.agents_killed[0])
    states = [run.ranks[rank] for rank in run.faults]
    own = [s for s in states if _is_own(s)] or _terminated(states)
    if own:
        return _went_down(run, own[0])
    echoes = [s for s in states if s.failed]
    if echoes:
        return _silent(run, echoes) or _collective_failed(run, echoes[0])
    return _went_down(run, states[0]) if states else None


def knows(run: RunState) -> bool:
    """Whether who failed is surely among what was said, so that waiting for more tells only of echoes."""
    return bool(run.agents_killed) or any(_is_own(run.ranks[rank]) for rank in run.faults)


def _is_own(state: RankState) -> bool:
    """Whether a rank surely went down by itself, and not because another one did."""
    if state.failed:
        return not state.failed.in_collective or bool(_OF_ITS_HOST.search(state.failed.text))
    return state.died and state.exit_code != SIGTERM_EXIT


def _terminated(states: Sequence[RankState]) -> list[RankState]:
    """Ranks that somebody else ended by SIGTERM: elastic only ends those of a node where one has failed before."""
    first_of_node: dict[tuple[int, str], RankState] = {}
    for state in states:
        first_of_node.setdefault((state.node_rank, state.host), state)
    return [state for state in first_of_node.values() if state.died]


def after_timeout(run: RunState, waited_s: float) -> Finding:
    """The culprit when nothing moved for `waited_s` seconds."""
    missing = [rank for rank in range(run.expected_ranks) if rank not in run.ranks]
    if missing and not run.everybody_spawned:
        return _never_came(run, missing, waited_s)
    living = [s for _, s in sorted(run.ranks.items()) if not s.ended]
    # their supervisors speak more often than that, and others have been heard
    latest = max((s.heard_at for s in living), default=0.0)
    silent = [s for s in living if s.heard_at < latest - waited_s / 2]
    if silent:
        reason = f"nothing was heard from {silent[0].host} since then: it is down, or cut off from the network"
        return _hung(run, silent, waited_s, reason)
    stopped = [s for s in living if s.is_stopped]
    if stopped:
        return _hung(run, stopped, waited_s, "its process is stopped (state T): something sent it SIGSTOP")
    outside = [s for s in living if not s.inside_call and not s.said_bye]
    if outside and len(outside) < len(living):
        return _hung(run, outside, waited_s, "it is outside of communication while the others wait inside")
    return _undetermined(run, living, waited_s)


def _went_down(run: RunState, state: RankState) -> Finding:
    evidence = (*_waiting(run, state), *_tail(state))
    if state.failed:
        kind, how = finding_kinds.RANK_ERROR, f"raised {_first_line(state.failed.text)}"
        remedy = "read the traceback in the rank's log"
    else:
        kind, code = finding_kinds.RANK_DIED, state.exit_code
        how = f"was killed by {_signal(-code)}" if code and code < 0 else f"exited with code {code} without a word"
        remedy = _killed_remedy(state.host, -(code or 0))
    message = f"{_who(state)} {how} {_where(run, state)}"
    return kind.finding(subject=_subject(state), message=message, evidence=evidence, remedy=remedy)


def _agent_killed(run: RunState, agent: AgentKilled) -> Finding:
    ranks = [s for _, s in sorted(run.ranks.items()) if s.node_rank == agent.node_rank]
    where = f" {_where(run, ranks[0])}" if ranks else ""
    who = f", and with it {_several(ranks)}" if ranks else ""
    how = f"was killed by {_signal(-agent.code)}{where}{who}"
    return finding_kinds.AGENT_KILLED.finding(
        subject=Subject(kind="host", name=agent.host),
        message=f"the agent of node {agent.node_rank} on {agent.host} {how}",
        evidence=_waiting(run, *ranks),
        remedy=_killed_remedy(agent.host, -agent.code),
    )


def _silent(run: RunState, echoes: Sequence[RankState]) -> Finding | None:
    """Everybody who spoke only echoed; one who said nothing at all is the cause."""
    # one that has ended was ended by its agent after another rank's error, or it would be the culprit already
    quiet = [s for _, s in sorted(run.ranks.items()) if s.failed is None and not s.ended and not s.said_bye]
    stopped = [s for s in quiet if s.is_stopped] or quiet
    if not stopped or len(stopped) > len(run.ranks) // 2:
        return None
    return _hung(run, stopped, 0.0, "the others failed while talking to it, and it said nothing")


def _collective_failed(run: RunState, state: RankState) -> Finding:
    assert state.failed is not None
    return finding_kinds.COLLECTIVE_FAILED.finding(
        subject=_subject(state),
        message=f"communication failed {_where(run, state)}; {_who(state)} said so first: "
        + _first_line(state.failed.text),
        evidence=_tail(state),
        remedy="no rank died: look at the network between the hosts, the interface that was chosen and firewalls",
    )


def _never_came(run: RunState, missing: Sequence[int], waited_s: float) -> Finding:
    came = sorted({state.host for state in run.ranks.values()})
    return finding_kinds.RANK_MISSING.finding(
        subject=Subject(kind="rank", name=str(missing[0])),
        message=f"rank {listed(map(str, missing))} of {run.expected_ranks} never came in {waited_s:.0f} s",
        evidence=(f"came: {named(came, _NAMED)}" if came else "no rank came",),
        remedy="look at the host that should have started it; --join-timeout waits longer",
    )


def _hung(run: RunState, states: Sequence[RankState], waited_s: float, reason: str) -> Finding:
    first = states[0]
    who = _who(first) if len(states) == 1 else _several(states)
    waited = f" for {waited_s:.0f} s" if waited_s else ""
    frames = "\n".join(first.stack.splitlines()[:_FRAMES_SHOWN])
    stack = (f"stack: {frames}",) if frames else ()
    return finding_kinds.RANK_HUNG.finding(
        subject=_subject(first),
        message=f"{who} did not come{waited} {_where(run, first)}",
        evidence=(reason, *_waiting(run, *states), *stack, *_tail(first)),
        remedy=f"on {first.host}: py-spy dump --pid {first.pid}, dmesg, nvidia-smi",
    )


def _undetermined(run: RunState, living: Sequence[RankState], waited_s: float) -> Finding:
    at = _where(run, living[0]) if living else "after the ranks had ended"
    return finding_kinds.HANG.finding(
        subject=Subject(kind="run", name="all ranks"),
        message=f"nothing moved for {waited_s:.0f} s {at}; no rank stands out",
        evidence=tuple(f"{_who(s)} waits {_where(run, s)}" for s in living[:_OTHERS_SHOWN]),
        remedy="suspect the network: firewall between the hosts, path MTU, interface; NCCL_DEBUG=INFO shows more",
    )


def _subject(state: RankState) -> Subject:
    return Subject(kind="rank", name=str(state.rank))


def _who(state: RankState) -> str:
    node = f"node {state.node_rank}, " if state.node_rank >= 0 else ""
    return f"rank {state.rank} on {state.host} ({node}pid {state.pid})"


def _several(states: Sequence[RankState]) -> str:
    ranks, hosts = [str(s.rank) for s in states], dict.fromkeys(s.host for s in states)
    return f"rank{'s' if len(ranks) > 1 else ''} {named(ranks, _NAMED)} on {named(hosts, _NAMED)}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _killed_remedy(host: str, number: int) -> str:
    if number == signal.SIGKILL:
        return f"on {host}: dmesg | grep -i -E 'out of memory|killed process' (the OOM killer sends SIGKILL)"
    return f"read the rank's log; on {host}: dmesg"


def _where(run: RunState, state: RankState) -> str:
    """Where a rank was, as part of a sentence."""
    entered = state.entered
    if entered is None:
        if state.facts is None:
            return "before it said hello"
        phase = state.beat.phase if state.beat else "joining"
        return f"after hello, before the first operation ({phase})"
    step = entered.label or f"{entered.op} at {format_bytes(entered.bytes)}"
    phase = state.beat.phase if state.beat and state.beat.step == entered.step else ""
    if entered.step in run.product.done or (state.beat and state.beat.step > entered.step):
        saving = state.beat is not None and state.beat.phase == "saving a checkpoint"
        return f"after {step}, {'while its checkpoint was saved' if saving else 'before its next step'}"
    collective = dict(entered.within).get(phase)
    return f"in {step}" + (f" ({phase}{f': {collective}' if collective else ''})" if phase else "")


def _waiting(run: RunState, *culprits: RankState) -> tuple[str, ...]:
    named = {s.rank for s in culprits}
    others = [s for _, s in sorted(run.ranks.items()) if s.rank not in named and not s.died]
    shown = [f"rank {s.rank} waited {_where(run, s)}" for s in others[:_OTHERS_SHOWN] if s.entered or s.facts]
    return (*shown, f"and {len(others) - _OTHERS_SHOWN} more") if len(others) > _OTHERS_SHOWN else tuple(shown)


def _tail(state: RankState) -> tuple[str, ...]:
    return tuple(f"log of rank {state.rank}: {line}" for line in state.log if line.strip())


def _first_line(text: str) -> str:
    return text.splitlines()[0][:300] if text else "an error"
