"""JUDGE a run that did not complete: what is said of the rank or host whose fault it is, in a finding.

Who that is after a fault, `culprits` tells. When nothing moved, it is: a rank that never came; one that is not
heard any more; a process that is stopped; one whose log says that its GPU or host failed; a rank that is outside
of communication while others are inside.
"""

import signal
from collections.abc import Sequence
from itertools import islice

from nccltool.core import processes
from nccltool.core.findings import Finding, Severity, Subject
from nccltool.core.text import listed, named
from nccltool.core.units import format_bytes
from nccltool.launch import culprits, finding_kinds, plugin_ends
from nccltool.launch.culprits import RankEnd, Role
from nccltool.launch.events import AgentKilled
from nccltool.launch.last_words import Whose
from nccltool.launch.run_state import ENDED, RankState, RunState
from nccltool.launch.stopped import StoppedProcess

_BETWEEN = "check the network between the hosts, the chosen interface, and firewalls"
_LOOK_AGAIN = "; to see its stack, repeat the run with a longer --timeout and use py-spy dump while it hangs"
_OTHERS_SHOWN = 4
_NAMED = 8
"""Of ranks or hosts: there may be thousands."""
_FRAMES_SHOWN, _ECHOES_SHOWN = 9, 4
ALL_RANKS = Subject(kind="run", name="all ranks")
"""Of what no rank stands out in."""


def after_fault(run: RunState) -> Finding | None:
    """The culprit when a rank failed or died; None when no rank did."""
    if crashed := _crashed(run):  # its ranks went down with it; what they or others still said are echoes
        return _agent_killed(run, crashed[0])
    own = culprits.own(run) or culprits.perhaps_own(run)
    if own:
        return _went_down(run, own[0])
    if agents := run.agents_killed:
        all_at_once = run.ranks and len(agents) > max(1, (run.job.nodes or 1) // 2)
        return (
            _terminated(run, _of_nodes(run, agents), agents[0].code)
            if all_at_once
            else _agent_killed(run, agents[0])
        )
    ended = culprits.terminated(run)
    if 0 < len(ended) <= max(1, len(run.ranks) // 2):
        return _went_down(run, ended[0])
    if untold := culprits.untold(run):
        return _supervisor_killed(run, untold[0])
    if run.stopped_at_fault:
        return _stopped(run, run.stopped_at_fault, "was", "error", "ranks gave up waiting meanwhile")
    if absent := culprits.absent(run):
        return _hung(run, absent.ranks, 0.0, absent.reason)
    echoes = [state for state in culprits.faulted(run) if culprits.end_of(state).is_echo]
    if echoes:
        return _collective_failed(run, echoes)
    if told := ended or culprits.were_told(run):
        return _terminated(run, told, told[0].exit_code or 0)
    return next((_went_down(run, first) for first in culprits.faulted(run)), None)


def knows(run: RunState) -> bool:
    """Whether who failed is surely among what was said, so that waiting for more tells only of echoes."""
    return bool(_crashed(run)) or culprits.has_own(run)


def _crashed(run: RunState) -> list[AgentKilled]:
    """Agents that nobody asked to end, as a launcher may ask all of them where a rank has failed."""
    return [agent for agent in run.agents_killed if agent.code not in ENDED]


def is_certain(run: RunState, waited_s: float) -> bool:
    """Whether who is at fault was seen, and is not only told from what the others wait for."""
    if run.stopped_above:
        return True
    if run.fault_at is None:  # what a silent host says may be lost on the way, and the other end be at fault
        return not _silent(run, waited_s) and seen_standing(run, waited_s) is not None
    stopped = (state for state in run.ranks.values() if state.is_stopped and not state.ended)
    return knows(run) or any(stopped) or bool(culprits.terminated(run))


def after_timeout(run: RunState, waited_s: float) -> Finding:
    """The culprit when nothing moved for `waited_s` seconds."""
    if stopped_above := process_stopped(run, "error", f"nothing moved for {waited_s:.0f} s"):
        return stopped_above
    missing = [rank for rank in range(run.expected_ranks) if rank not in run.ranks]
    if missing and not run.everybody_spawned:
        return _never_came(run, missing, waited_s)
    if seen := seen_standing(run, waited_s):
        return seen
    living = [s for _, s in sorted(run.ranks.items()) if not s.ended]
    outside = [s for s in living if not s.inside_call and not s.said_bye]
    if outside and len(outside) < len(living):
        return _hung(
            run, outside, waited_s, "it is not in a communication call, but the others are waiting in one"
        )
    return _undetermined(run, [s for s in living if not s.is_waiting_for_groups] or living, waited_s)


def seen_standing(run: RunState, waited_s: float) -> Finding | None:
    """The culprit when nothing moved, where it was seen that it could not get on; None = none was."""
    living = [s for _, s in sorted(run.ranks.items()) if not s.ended]
    silent = _silent(run, waited_s)
    hosts, unheard = ({s.host for s in those} for those in (living, silent))
    if silent and (
        len(unheard) == 1 or len(unheard) < len(hosts) - 1
    ):  # else the one that is heard may be cut off
        reason = f"{silent[0].host} has sent nothing since then: it is down or cut off from the network"
        return _hung(run, silent, waited_s, reason)
    stopped = [s for s in living if s.is_stopped]
    if stopped:
        return _hung(run, stopped, waited_s, "its process is stopped (state T): something sent it SIGSTOP")
    looking = [s for s in living if s.is_looking_at_gpu]
    if looking:
        return _driver_silent(run, looking, waited_s)
    if troubled := culprits.troubled(run):
        return _troubled(run, troubled[0], waited_s)
    return None


def _silent(run: RunState, waited_s: float) -> list[RankState]:
    """Ranks that are not heard any more: their supervisors speak more often, and others have been heard."""
    living = [s for _, s in sorted(run.ranks.items()) if not s.ended]
    latest = max((s.heard_at for s in living), default=0.0)
    return [s for s in living if s.heard_at < latest - waited_s / 2]


def process_stopped(run: RunState, severity: Severity, cost: str) -> Finding | None:
    """The first process above the ranks that is stopped, and what that costs; None = there is none."""
    return _stopped(run, run.stopped_above, "is", severity, cost) if run.stopped_above else None


def _stopped(
    run: RunState, found: Sequence[tuple[str, StoppedProcess]], is_or_was: str, severity: Severity, cost: str
) -> Finding:
    (host, first), others = found[0], [f"{_process(run, *one)} {is_or_was} stopped too" for one in found[1:]]
    rank = next((s for s in run.ranks.values() if first.role == "supervisor" and s.pid in first.below), None)
    return finding_kinds.PROCESS_STOPPED.finding(
        subject=_subject(rank) if rank else _place(host, first),
        severity=severity,
        message=f"{_process(run, host, first)} {is_or_was} stopped (state T): something sent it SIGSTOP; {cost}",
        evidence=(*others[:_OTHERS_SHOWN], *_waiting(run)) if severity == "error" else (),
        remedy=f"find out what stops processes on {host}: a debugger, a scheduler that suspends jobs, kill -STOP",
    )


def _place(host: str, process: StoppedProcess) -> Subject:
    """Neither host is at fault where the command that connects them was stopped."""
    if process.towards and process.towards != host:
        return Subject(kind="link", name=f"{host} - {process.towards}")
    return Subject(kind="host", name=host)


def _process(run: RunState, host: str, process: StoppedProcess) -> str:
    """`the supervisor of rank 1 on n2 (pid 7)`."""
    of = [s for s in run.ranks.values() if s.pid in process.below] if process.role == "supervisor" else []
    whose = f" of rank {of[0].rank}" if of else f" to {process.towards}" if process.towards else ""
    return f"the {process.role}{whose} on {host} (pid {process.pid})"


def _went_down(run: RunState, state: RankState) -> Finding:
    end = culprits.end_of(state)
    sign, code, alike = end.sign, state.exit_code, _alike(run, end)
    if state.failed and state.failed.of_plugin:
        return plugin_ends.ended(state.failed.text, f"{_who(state)} {_where(run, state)}", _waiting(run, state))
    if state.failed:
        kind, how = finding_kinds.RANK_ERROR, f"raised {_first_line(state.failed.text)}"
        remedy = "read the traceback in the rank's log"
    else:
        kind = finding_kinds.RANK_DIED
        how = (
            f"was killed by {processes.signal_name(-code)}"
            if code and code < 0
            else f"exited with code {code} without an error message"
        )
        remedy = killed_remedy(state.host, -(code or 0))
    if sign is not None:
        kind, remedy = sign.kind, sign.remedy.format(host=state.host)
        how += "" if state.failed else f": {end.said}"
    message, subject = f"{_who(state)} {how} {_where(run, state)}", _subject(state)
    if not (sign and sign.whose is Whose.HARDWARE) and len(alike) > max(1, len(run.ranks) // 2):
        subject, message = ALL_RANKS, f"{message}; most other ranks did the same, so no rank stands out"
    others = sorted((one for one in alike if one is not state), key=lambda one: one.rank) if sign else []
    also = (f"{_several(others)} reported the same error",) if others else ()
    by = (f"its supervisor received {state.ended_by}",) if state.ended_by else ()
    evidence = (*by, *also, *_waiting(run, state, *others), *_said(state))
    return kind.finding(subject=subject, message=message, evidence=evidence, remedy=remedy)


def _alike(run: RunState, end: RankEnd) -> list[RankState]:
    """Those whose log says the same of their end; or that aborted without a word, as this one did."""
    if end.sign is None:
        return [
            one for one in culprits.faulted(run) if end.role is Role.PERHAPS_OWN and culprits.end_of(one) == end
        ]
    return [one for one in culprits.faulted(run) if culprits.end_of(one).sign is end.sign]


def _terminated(run: RunState, ended: Sequence[RankState], code: int) -> Finding:
    """Ranks were told to end, and none of them had failed before."""
    hosts = dict.fromkeys(state.host for state in ended)
    how = f"were ended by {processes.signal_name(-code)} {_where(run, ended[0])}"
    return finding_kinds.TERMINATED.finding(
        subject=ALL_RANKS,
        message=f"{_several(ended)} {how}; none had failed before that",
        evidence=(f"hosts: {listed(hosts)}", *(_who(state) for state in ended[:_OTHERS_SHOWN])),
        remedy="find out who ended the job: the scheduler (preemption, time limit) or an administrator",
    )


def _troubled(run: RunState, state: RankState, waited_s: float) -> Finding:
    """Its GPU or host failed, as its log says; its process is still there."""
    end = culprits.end_of(state)
    assert end.sign is not None
    return end.sign.kind.finding(
        subject=_subject(state),
        message=f"{_who(state)} made no progress for {waited_s:.0f} s {_where(run, state)}; its log says: "
        f"{end.said}",
        evidence=(*_waiting(run, state), *_said(state)),
        remedy=end.sign.remedy.format(host=state.host),
    )


def _supervisor_killed(run: RunState, state: RankState) -> Finding:
    return finding_kinds.RANK_DIED.finding(
        subject=_subject(state),
        message=f"{_who(state)} died {_where(run, state)}: its supervisor, killed or interrupted, did not say how",
        evidence=_waiting(run, state),
        remedy=killed_remedy(state.host, signal.SIGKILL),
    )


def _agent_killed(run: RunState, agent: AgentKilled) -> Finding:
    ranks = _of_nodes(run, [agent])
    where = f" {_where(run, ranks[0])}" if ranks else ""
    who = f", along with {_several(ranks)}" if ranks else ""
    how = f"was killed by {processes.signal_name(-agent.code)}{where}{who}"
    return finding_kinds.AGENT_KILLED.finding(
        subject=Subject(kind="host", name=agent.host),
        message=f"the agent of node {agent.node_rank} on {agent.host} {how}",
        evidence=_waiting(run, *ranks),
        remedy=killed_remedy(agent.host, -agent.code),
    )


def _of_nodes(run: RunState, agents: Sequence[AgentKilled]) -> list[RankState]:
    nodes = {agent.node_rank for agent in agents}
    return [state for _, state in sorted(run.ranks.items()) if state.node_rank in nodes]


def _collective_failed(run: RunState, echoes: Sequence[RankState]) -> Finding:
    missing = [rank for rank in range(run.expected_ranks) if rank not in run.ranks]
    if missing and not run.everybody_spawned:
        return _never_came(run, missing, (run.fault_at or run.started_at) - run.started_at)
    first = echoes[0]
    said = first.failed.text if first.failed else culprits.end_of(first).said
    bad, silent = culprits.suspect_host(run), culprits.silent(run)
    who = f"{bad.host} stands out" if bad else "no rank stands out"
    heard_first = f"{_who(first)} reported it first: {_first_line(said)}"
    first_words = (line for state in echoes[:_ECHOES_SHOWN] for line in _said(state)[:2])
    return finding_kinds.COLLECTIVE_FAILED.finding(
        subject=Subject(kind="host", name=bad.host) if bad else ALL_RANKS,
        message=f"communication failed {_where(run, first)}; {who}. {heard_first}",
        evidence=(*((bad.reason,) if bad else ()), *((silent.reason,) if silent.ranks else ()), *first_words),
        remedy=f"check the network of {bad.host}: link state and error counters of its ports, firewall"
        if bad
        else f"{'' if silent.ranks else 'no rank died: '}{_on_one_host(run) or _BETWEEN}",
    )


def _never_came(run: RunState, missing: Sequence[int], waited_s: float) -> Finding:
    came = sorted({state.host for state in run.ranks.values()})
    return finding_kinds.RANK_MISSING.finding(
        subject=Subject(kind="rank", name=str(missing[0])),
        message=f"rank{'s' if len(missing) > 1 else ''} {listed(map(str, missing))} of {run.expected_ranks} "
        f"did not join within {waited_s:.0f} s",
        evidence=(f"joined: {named(came, _NAMED)}" if came else "no rank joined",),
        remedy="check the host that should have started it; to wait longer, raise --join-timeout",
    )


def _hung(run: RunState, states: Sequence[RankState], waited_s: float, reason: str) -> Finding:
    first = states[0]
    who = _who(first) if len(states) == 1 else _several(states)
    waited = f" for {waited_s:.0f} s" if waited_s else ""
    frames = "\n".join(first.stack.splitlines()[:_FRAMES_SHOWN])
    stack = (f"stack: {frames}",) if frames else ()
    return finding_kinds.RANK_HUNG.finding(
        subject=_subject(first),
        message=f"{who} made no progress{waited} {_where(run, first)}",
        evidence=(reason, *_waiting(run, *states), *_echoes(run), *stack, *_said(first)),
        remedy=f"run on {first.host}: dmesg, nvidia-smi{'' if frames or first.is_stopped else _LOOK_AGAIN}",
    )


def _driver_silent(run: RunState, states: Sequence[RankState], waited_s: float) -> Finding:
    first, hosts = states[0], {s.host for s in states}
    of_host = [s for s in run.ranks.values() if s.host == first.host]
    whole = len(states) == len(of_host) > 1 and len(hosts) == 1
    who = _who(first) if len(states) == 1 else _several(states)
    asleep = any(s.beat is not None and s.beat.state == "D" for s in states)
    stack = first.stack.splitlines()[:_FRAMES_SHOWN]
    return finding_kinds.GPU_UNUSABLE.finding(
        subject=Subject(kind="host", name=first.host) if whole else _subject(first),
        message=f"CUDA has not responded to {who} for {waited_s:.0f} s",
        evidence=(
            *(["state D: its process is blocked in the kernel, waiting for the driver"] if asleep else []),
            *_waiting(run, *states),
            *([f"stack: {chr(10).join(stack)}"] if stack else []),
        ),
        remedy=f"on {first.host}, check whether nvidia-smi hangs too and run dmesg | grep -i -E "
        "'NVRM|Xid|amdgpu'; "
        "to wait longer, raise --join-timeout; to run without GPUs, use --backend gloo",
    )


def _undetermined(run: RunState, living: Sequence[RankState], waited_s: float) -> Finding:
    at = _where(run, living[0]) if living else "after the ranks ended"
    return finding_kinds.HANG.finding(
        subject=ALL_RANKS,
        message=f"no progress for {waited_s:.0f} s {at}; no rank stands out",
        evidence=tuple(f"{_who(s)} waits {_where(run, s)}" for s in living[:_OTHERS_SHOWN]),
        remedy=_on_one_host(run)
        or "check the firewalls between the hosts, the path MTU, and the chosen interface; NCCL_DEBUG=INFO "
        "shows more",
    )


def _on_one_host(run: RunState) -> str:
    """What to look at where all ranks are on one host: no network is between them. "" = they are not."""
    hosts = {state.host for state in run.ranks.values()}
    if len(hosts) != 1 or len(run.ranks) < run.expected_ranks:
        return ""
    there = f"run on {min(hosts)}, the host of all ranks: dmesg, nvidia-smi (or amd-smi), df /dev/shm"
    return f"{there}; NCCL_DEBUG=INFO shows more"


def _subject(state: RankState) -> Subject:
    return Subject(kind="rank", name=str(state.rank))


def _who(state: RankState) -> str:
    known = [f"node {state.node_rank}"] if state.node_rank >= 0 else []
    known += [f"pid {state.pid}"] if state.pid is not None else []
    return f"rank {state.rank} on {state.host}" + (f" ({', '.join(known)})" if known else "")


def _several(states: Sequence[RankState]) -> str:
    ranks, hosts = [str(s.rank) for s in states], dict.fromkeys(s.host for s in states)
    return f"rank{'s' if len(ranks) > 1 else ''} {named(ranks, _NAMED)} on {named(hosts, _NAMED)}"


def killed_remedy(host: str, number: int) -> str:
    """What to do about a process that a signal ended."""
    if number == signal.SIGKILL:
        return f"run on {host}: dmesg | grep -i -E 'out of memory|killed process' (the OOM killer sends SIGKILL)"
    return f"read the rank's log and run dmesg on {host}"


def _where(run: RunState, state: RankState) -> str:
    """Where a rank was, as part of a sentence."""
    entered = state.entered
    if entered is None:
        if state.facts is None:
            return "during startup"
        phase = state.beat.phase if state.beat else "joining"
        return f"before the first operation ({phase})"
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


def _echoes(run: RunState) -> tuple[str, ...]:
    """What those that waited said of it first: the lines that NCCL and torch wrote, without the stacks."""
    echoes = (state for state in culprits.faulted(run) if culprits.end_of(state).is_echo and state.words.signs)
    return tuple(f"log of rank {s.rank}: {s.words.signs[0].text}" for s in islice(echoes, _ECHOES_SHOWN))


def _said(state: RankState) -> tuple[str, ...]:
    """What NCCL and torch said first in a rank's log, which a stack has pushed out of its end, and the end."""
    end = [line for line in state.log if line.strip()]
    first = [line for line in state.words.first if not any(line in one for one in end)]
    return tuple(f"log of rank {state.rank}: {line}" for line in (*first, *end))


def _first_line(text: str) -> str:
    return text.splitlines()[0][:300] if text else "an error"
