"""What a scheduler's scripts ask of their own node, in seconds: its facts, rules of severity error, one sentence.

No network between nodes, no rank, no torch. A node is drained by what was seen on it, never because a look failed.
"""

import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from nccltool.core import external_commands
from nccltool.core.errors import BadInput
from nccltool.core.external_commands import Done
from nccltool.core.text import comma_separated, escaped, shortened
from nccltool.core.units import parse_duration
from nccltool.core.unknown import Unknown
from nccltool.core.verdicts import Verdict, verdict
from nccltool.doctor import judge as doctor_judge
from nccltool.doctor import rules, run
from nccltool.hosts import reader
from nccltool.hosts.facts import HostFacts

BUDGET_S = 9.0
_LOOK, _ASK = 0.4, 0.25
"""Shares of the budget: the look at the host; each of the two calls of scontrol. The rest is to start."""
MARK = "nccltool: "
"""Begins each reason that is ours: no other is changed, and no node that another one drained is resumed."""
_LONGEST = 200
_ENV = ("PATH", "HOME", "LD_LIBRARY_PATH", "HOSTNAME")
"""Of slurmd's own; what it has for NCCL is not what the job will have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PrologOrder:
    """What the script wants to know, and to be done."""

    gpus: int | None
    """How many there must be; None = any number."""
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    drain: bool
    resume: bool
    node: str
    """What Slurm calls this host."""
    budget_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeAnswer:
    """What came of it."""

    verdict: Verdict
    reason: str = ""
    """As Slurm gets it; empty = healthy."""
    details: tuple[str, ...] = ()
    """Evidence and remedies, for the log."""
    done: str = ""
    """What was done to the node."""
    trouble: str = ""
    """Why what should have been done was not."""


def from_options(
    env: Mapping[str, str],
    *,
    expect_gpus: int | None,
    select: Sequence[str],
    ignore: Sequence[str],
    drain: bool,
    resume: bool,
    node: str | None,
    total_budget: str | None,
) -> PrologOrder:
    """The options of `nccltool slurm-prolog`, checked. Raises BadInput."""
    if resume and not drain:
        raise BadInput("--resume needs --drain", "it undoes what --drain did")
    made = PrologOrder(
        gpus=expect_gpus,
        select=comma_separated(select),
        ignore=comma_separated(ignore),
        drain=drain,
        resume=resume,
        node=node or env.get("SLURMD_NODENAME") or socket.gethostname().partition(".")[0],
        budget_s=parse_duration(total_budget, "--budget") if total_budget else BUDGET_S,
    )
    run.rules_for(made.select, made.ignore)
    return made


def look(ask: PrologOrder) -> HostFacts:
    """This host, within its share of the budget."""
    env = {name: os.environ[name] for name in _ENV if name in os.environ}
    why = "none: the job's variables are unknown here"
    return reader.take(environ=env, seconds=ask.budget_s * _LOOK, env_source=why, meanwhile=rules.every)


def judge(ask: PrologOrder, facts: HostFacts) -> NodeAnswer:
    """What is wrong with the node. Pure."""
    judgement = doctor_judge.judge([doctor_judge.host_of(facts)], run.rules_for(ask.select, ask.ignore))
    said, details = [], []
    count = facts.visible_gpus
    if ask.gpus is not None and isinstance(count, int) and count != ask.gpus:
        said.append(f"{count} GPUs found, expected {ask.gpus}")
    for finding in judgement.findings:
        if finding.is_error:
            said.append(f"{finding.code} {finding.message}")
            details += [*finding.evidence, *([f"-> {finding.remedy}"] if finding.remedy else [])]
    if said:
        return NodeAnswer(verdict=verdict(failed=True), reason=_reason(said), details=tuple(details))
    if ask.gpus is not None and isinstance(count, Unknown):
        why = (f"cannot tell whether there are {ask.gpus} GPUs: {count.reason}",)
        return NodeAnswer(verdict=verdict(can_tell=False), details=why)
    if not any(one.status in ("pass", "warn") for one in judgement.outcomes):
        return NodeAnswer(verdict=verdict(can_tell=False), details=("nothing was checked",))
    return NodeAnswer(verdict=verdict())


def _reason(said: Sequence[str]) -> str:
    """One line; what is worst stands first, for sinfo -R shows the beginning."""
    more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
    return shortened(escaped(MARK + said[0]), _LONGEST - len(more)) + more


def acted(ask: PrologOrder, answer: NodeAnswer) -> NodeAnswer:
    """Drain or resume the node, where that is asked for, and it was not drained by somebody else."""
    failed = answer.verdict.status == "fail"
    if not ask.drain or not (failed or (ask.resume and answer.verdict.status == "pass")):
        return answer
    node = _node(ask)
    if isinstance(node, Unknown):
        return replace(answer, trouble=node.reason)
    state, reason = node
    drained = any(word in state for word in ("DRAIN", "DOWN", "FAIL"))
    if failed and not drained:
        return _update(ask, answer, "drain", f"reason={answer.reason}")
    if failed:
        return replace(answer, done=f"{ask.node} is already {state}: {escaped(reason) or 'no reason given'}")
    if "DRAIN" in state and reason.startswith(MARK):
        return _update(ask, answer, "resume")
    return answer


def _node(ask: PrologOrder) -> tuple[str, str] | Unknown:
    """State and reason of the node, as Slurm has them."""
    said = _scontrol(ask, "show", "node", "-o", ask.node)
    if isinstance(said, Unknown):
        return said
    state = re.search(r"(?:^| )State=(\S+)", said)
    reason = re.search(r" Reason=(.*?)(?: \[[^\]]*@[^\]]*\]|$)", said.strip())
    if state is None:
        return Unknown(f"scontrol shows no state for {ask.node}")
    return state[1], reason[1] if reason else ""


def _update(ask: PrologOrder, answer: NodeAnswer, state: str, *more: str) -> NodeAnswer:
    said = _scontrol(ask, "update", f"nodename={ask.node}", f"state={state}", *more)
    if isinstance(said, Unknown):
        return replace(answer, trouble=said.reason)
    return replace(answer, done=f"{ask.node}: {'drained' if state == 'drain' else 'resumed'}")


def _scontrol(ask: PrologOrder, *words: str) -> str | Unknown:
    done = external_commands.run(("scontrol", *words), ask.budget_s * _ASK)
    if isinstance(done, Done):
        why = (done.err or done.out).strip()
        return (
            done.out
            if done.code == 0
            else Unknown(f"scontrol {words[0]} failed with exit code {done.code}: {why}")
        )
    return done
