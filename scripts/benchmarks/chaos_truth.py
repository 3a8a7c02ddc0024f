"""JUDGE what came of a trial of the chaos bench against what was done: the right name, or nobody if so it is."""

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ClusterShell.NodeSet import NodeSet

from benchmarks.chaos_trials import Act, Target, Trial

Name = tuple[str, str]
"""Kind and name of a finding's subject."""
NODE_PROCESS: Name = ("run", "node process")
COMMAND: Name = ("run", "this command")
INTERRUPTED = 130
_SEVERAL = re.compile(r"ranks (\d+(?:, \d+)*) on .* made no progress")
_INTERRUPTS = (Act.INT, Act.TERM, Act.HUP)
_MILD = (Act.PAUSE, Act.FLAP, Act.LOSS, Act.SHAPE, Act.MTU)
"""The run may get over these; what it measured may then be judged as too slow."""
_GONE_WITHOUT_A_WORD = (Act.KILL, Act.SEGV, Act.ABRT)


class Naming(enum.StrEnum):
    """Whom the run named."""

    RIGHT = "right"
    NOBODY = "nobody"
    """And that is the truth: it passed, or nobody but the command itself was hit."""
    UNNAMED = "unnamed"
    INNOCENT = "innocent"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a run."""

    was_hit: bool
    """False: the target was gone when the moment came."""
    code: int | None
    """None: it did not end, and was killed."""
    document: Mapping[str, Any] | None
    """What it printed; None = nothing that can be read."""
    torn: tuple[str, ...]
    """Documents of its run directory that cannot be read."""
    left: tuple[str, ...]
    """Processes and files that are still there after half a minute."""
    seconds: float
    """From the act to its end."""


@dataclass(frozen=True, slots=True)
class Score:
    """One trial, judged."""

    naming: Naming
    is_exit_right: bool
    is_document_whole: bool
    left: tuple[str, ...]
    seconds: float
    was_hit: bool
    named: tuple[Name, ...] = ()

    @property
    def is_right(self) -> bool:
        told = self.naming in (Naming.RIGHT, Naming.NOBODY)
        return told and self.is_exit_right and self.is_document_whole and not self.left


def judge(trial: Trial, hosts: tuple[str, ...], outcome: Outcome) -> Score:
    """`hosts`: the name of each node's host."""
    named = names(outcome.document or {})
    return Score(
        naming=_naming(trial, hosts, outcome, named),
        is_exit_right=outcome.code in _exit_codes(trial, outcome),
        is_document_whole=_is_whole(trial, outcome),
        left=outcome.left,
        seconds=outcome.seconds,
        was_hit=outcome.was_hit,
        named=tuple(sorted(named)),
    )


def names(document: Mapping[str, Any]) -> frozenset[Name]:
    """Whom errors of a document blame: ranks, hosts, pairs; not the run itself."""
    errors = [one for one in document.get("findings", ()) if one["severity"] == "error"]
    blamed = {(one["subject"]["kind"], name) for one in errors for name in _each(one["subject"])}
    # the subject is the first of several ranks
    several = [found for one in errors if (found := _SEVERAL.match(one["message"]))]
    blamed |= {("rank", rank) for found in several for rank in found[1].split(", ")}
    outcomes = document.get("outcomes", ())
    blamed |= {("host", one["host"]) for one in outcomes if one["status"] == "fail" and one.get("host")}
    return frozenset(one for one in blamed if one[0] != "run" or one in (NODE_PROCESS, COMMAND))


def _each(subject: Mapping[str, str]) -> Iterable[str]:
    """Several hosts are one word: n[2-3]; a pair has its hosts in either order."""
    if subject["kind"] == "link":
        return (_pair(*subject["name"].split(" - ")),)
    return NodeSet(subject["name"]) if "[" in subject["name"] else (subject["name"],)


def _pair(*hosts: str) -> str:
    return " - ".join(sorted(hosts))


def passed(document: Mapping[str, Any] | None) -> bool:
    """Whether all that was asked for was measured, and is well."""
    if document is None or document["exit_code"] != 0:
        return False
    planned = document["run"].get("rows_planned") if document["kind"] == "probe" else None
    return planned is None or len(document["measurements"]) == planned


def _naming(trial: Trial, hosts: tuple[str, ...], outcome: Outcome, named: frozenset[Name]) -> Naming:
    right = right_names(trial, hosts) if outcome.was_hit else frozenset()
    if named - right - _vague(trial, hosts):
        return Naming.INNOCENT
    if named & right:
        return Naming.RIGHT
    nobody_to_name = trial.target in (Target.RUNNER, Target.CHILD)
    return Naming.NOBODY if passed(outcome.document) or nobody_to_name else Naming.UNNAMED


def right_names(trial: Trial, hosts: tuple[str, ...]) -> frozenset[Name]:
    """What may be named for what was done. Who fails in consequence is not in it."""
    host = hosts[trial.node]
    match trial.target:
        case Target.RUNNER | Target.CHILD:
            return frozenset({COMMAND})
        case Target.NODE if not trial.scene.is_ssh:
            return frozenset({("host", host), NODE_PROCESS})
        case Target.RANK | Target.SUPERVISOR:
            return frozenset({("rank", str(trial.rank))})
        case Target.NETWORK:
            others = (hosts[trial.peer],) if trial.act is Act.ONE_WAY else hosts
            pairs = frozenset(_pairs_of(host, others))
            ends = {trial.node, trial.peer} if trial.act is Act.ONE_WAY else {trial.node}
            return pairs.union(*(_of_host(trial, hosts, node) for node in ends))
        case Target.SSH:
            return frozenset({("host", host), *_pairs_of(host, hosts)})
    return frozenset({("host", host), ("host", f"node {trial.node}")})


def _pairs_of(host: str, others: Iterable[str]) -> Iterable[Name]:
    return (("link", _pair(host, other)) for other in others if other != host)


def _of_host(trial: Trial, hosts: tuple[str, ...], node: int) -> frozenset[Name]:
    """A host and its ranks."""
    ranks = range(node * trial.scene.ranks, (node + 1) * trial.scene.ranks)
    return frozenset({("host", hosts[node]), *(("rank", str(rank)) for rank in ranks)})


def _vague(trial: Trial, hosts: tuple[str, ...]) -> frozenset[Name]:
    """True, but not what was asked: the host of a rank, or of a command."""
    if trial.target is Target.RUNNER:
        return frozenset()
    return frozenset({("host", hosts[0 if trial.target is Target.CHILD else trial.node])})


def _exit_codes(trial: Trial, outcome: Outcome) -> frozenset[int | None]:
    gone = trial.target is Target.RUNNER and trial.act in _GONE_WITHOUT_A_WORD and outcome.was_hit
    if passed(outcome.document):  # it may be hit between its last line and its end
        return frozenset({0, -trial.act.signal} if gone else {0})
    if not outcome.was_hit:
        return frozenset({0})
    if gone:
        return frozenset({-trial.act.signal})
    if trial.target is Target.RUNNER:
        return frozenset({INTERRUPTED} if trial.act in _INTERRUPTS else {3})
    is_late = any(one["severity"] == "error" for one in (outcome.document or {}).get("findings", ()))
    return frozenset({1, 3} if trial.act in _MILD and is_late else {3})


def _is_whole(trial: Trial, outcome: Outcome) -> bool:
    if outcome.torn:
        return False
    if trial.target is Target.RUNNER and trial.act in _GONE_WITHOUT_A_WORD:
        return True  # it may have been in the middle of a word
    return outcome.document is not None and outcome.document["exit_code"] == outcome.code
