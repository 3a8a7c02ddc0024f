"""A link against its ends, and a group against its members.

Encounters of the same nodes are a circle in which beliefs confirm each other. So what was slow repeatedly is
decided between its explanations one by one: the link, or one of its ends, with all that is known of each.
"""

import numpy as np

from nccltool.localize.judge.beliefs import Beliefs, heard_alone
from nccltool.localize.judge.parts import Parts
from nccltool.localize.judge.states import FIRST_BAD, Floats, Ints

_MOST_LOG_ODDS = 600.0


def decided(parts: Parts, beliefs: Beliefs, likelihood: Floats) -> Floats:
    """Of each part: the probability that it is bad."""
    bad = beliefs.bad()
    numbers = {key: number for number, key in enumerate(parts.keys)}
    for part, (kind, subject) in enumerate(parts.keys):
        if kind not in ("link", "group"):
            continue
        encounters = parts.encounter_of[parts.edges(part)]
        if len(encounters) < 2:
            continue
        members = [numbers["node", (name,)] for name in (subject[:2] if kind == "link" else subject)]
        logs = np.array([_log_odds(parts, beliefs, likelihood, each, encounters) for each in (part, *members)])
        odds = np.exp(np.minimum(logs, _MOST_LOG_ODDS))
        shares = odds / (1 + odds.sum())
        bad[part] = shares[0]
        bad[members] = np.maximum(bad[members], shares[1:])
    return bad


def _log_odds(parts: Parts, beliefs: Beliefs, likelihood: Floats, part: int, encounters: Ints) -> float:
    """That the part alone was slow in these encounters, against that none was."""
    edges = parts.edges(part)
    is_here = np.isin(parts.encounter_of[edges], encounters)
    logs = parts.priors[part] + beliefs.messages[edges[~is_here]].sum(axis=0)
    logs = logs + heard_alone(parts, likelihood, edges[is_here]).sum(axis=0)
    found: float = np.logaddexp.reduce(logs[..., FIRST_BAD - 1 :], axis=None)
    return float(found)
