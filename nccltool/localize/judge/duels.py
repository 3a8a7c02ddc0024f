"""A link against its ends, and a group against its members.

Encounters of the same nodes are a circle in which beliefs confirm each other. So what was slow repeatedly is
decided between its explanations one by one: the link, or one of its ends, with all that is known of each.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from nccltool.localize.judge.beliefs import Beliefs, heard_alone
from nccltool.localize.judge.parts import Key, PartKind, Parts
from nccltool.localize.judge.states import FIRST_BAD, Floats, Ints

_MOST_LOG_ODDS = 600.0
_LIKELY = 0.5


def decided(parts: Parts, beliefs: Beliefs, likelihood: Floats) -> Floats:
    """Of each part: the probability that it is bad."""
    bad = beliefs.bad()
    numbers = {key: number for number, key in enumerate(parts.keys)}
    slow_rails = _of_slow_rails(parts, bad)
    rails = sorted(subject[0] for kind, subject in parts.keys if kind == "rail")
    for part, (kind, subject) in enumerate(parts.keys):
        if kind not in ("link", "group"):
            continue
        encounters = parts.encounter_of[parts.edges(part)]
        if kind == "link" and len(subject) == 2:
            encounters = encounters[~np.isin(encounters, slow_rails)]
        if len(encounters) < 2:
            continue
        members = [numbers[key] for key in _explanations(kind, subject, rails) if key in numbers]
        logs = np.array([_log_odds(parts, beliefs, likelihood, each, encounters) for each in (part, *members)])
        odds = np.exp(np.minimum(logs, _MOST_LOG_ODDS))
        shares = odds / (1 + odds.sum())
        bad[part] = shares[0]
        bad[members] = np.maximum(bad[members], shares[1:])
    return bad


def _of_slow_rails(parts: Parts, bad: Floats) -> Ints:
    """Encounters that a slow rail explains, whatever the link as a whole is."""
    slow = [part for kind in ("rail", "node-rail") for part in parts.number(kind) if bad[part] > _LIKELY]
    found = [parts.encounter_of[edges[parts.activity[edges, 0] == 1.0]] for edges in map(parts.edges, slow)]
    return np.concatenate(found) if found else np.empty(0, dtype=np.int64)


def _explanations(kind: PartKind, subject: tuple[str, ...], rails: Sequence[str]) -> Iterator[Key]:
    """What may be slow instead: its members; of a link also the same link on one rail, and of a link on one rail
    that rail of its ends, and the link as a whole."""
    ends, rail = (subject[:2], subject[2:]) if kind == "link" else (subject, ())
    yield from (("node", (name,)) for name in ends)
    if rail:
        yield from (("node-rail", (name, *rail)) for name in ends)
        yield "link", ends
    elif kind == "link":
        yield from (("link", (*ends, each)) for each in rails)


def _log_odds(parts: Parts, beliefs: Beliefs, likelihood: Floats, part: int, encounters: Ints) -> float:
    """That the part alone was slow in these encounters, against that none was."""
    edges = parts.edges(part)
    is_here = np.isin(parts.encounter_of[edges], encounters)
    logs = parts.priors[part] + beliefs.messages[edges[~is_here]].sum(axis=0)
    logs = logs + heard_alone(parts, likelihood, edges[is_here]).sum(axis=0)
    found: float = np.logaddexp.reduce(logs[..., FIRST_BAD - 1 :], axis=None)
    return float(found)
