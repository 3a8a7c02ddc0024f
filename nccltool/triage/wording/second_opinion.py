"""What the words of a log make of an answer that its lines do not settle.

Lines come first: an answer that is as sure as SETTLED stands. Below it, what the lines make of each cause is the
prior, and the words decide (likeness.py). They accuse nobody where no line reports a failure, and name a cause for
which no line speaks only where the lines name none. A plug-in's cause stands: no weights know it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nccltool.triage.wording import likeness

SETTLED = 0.6
"""Confidence of the lines from which on words change nothing. Of the 637 answers of rounds 13 to 25, judged unseen
with weights learned from the rounds before each, 480 were right without the words, and 504 with them."""
_LEAST_WORDS = 16
"""Known words of a log of which the weights can tell anything: one in fifty of their cases has fewer."""
_TRUST = 1.5
"""Exponent of what the words say; between 1 and 2 it made no difference there."""
_OF_RIVALS = 0.5
"""The share of the doubt that the other candidates have together; the rest is spread over all causes."""
_LEAST, _MORE = 0.3, 0.45
"""Of the answers that words changed there, 28 of 47 were right: 4 of 10 where lines and words together gave less
than 0.5, 10 of 19 up to 0.8, and 14 of 18 above it. A line through these."""
_FLOOR = 0.001
"""Words alone rule nothing out."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """An answer, and how often such answers are right."""

    cause: str
    confidence: float


def is_open(answer: str, confidence: float) -> bool:
    """Whether words may change an answer of the lines."""
    return confidence < SETTLED and answer != "none" and answer in likeness.learned().causes


def opinion(
    answer: str, confidence: float, rivals: Sequence[str], words: frozenset[str], *, may_be_well: bool = True
) -> Opinion | None:
    """Another answer than that of the lines; None where it stands.

    `rivals`: the other causes for which lines speak. `may_be_well`: nothing shows that the job did not go on.
    """
    if not is_open(answer, confidence) or len(likeness.known(words)) < _LEAST_WORDS:
        return None
    likely = likeness.chances(words)
    weighed = {
        cause: share * max(likely.get(cause, 0.0), _FLOOR) ** _TRUST
        for cause, share in _prior(answer, confidence, rivals).items()
    }
    best = max(weighed, key=lambda cause: weighed[cause])
    if best == answer or (best == "none" and not may_be_well):
        return None
    return Opinion(best, round(_LEAST + _MORE * weighed[best] / sum(weighed.values()), 2))


def _prior(answer: str, confidence: float, rivals: Sequence[str]) -> Mapping[str, float]:
    """What the lines leave to each cause that may be named."""
    doubt, every = 1 - confidence, likeness.learned().causes
    of_each = doubt * (1 - _OF_RIVALS if rivals else 1) / len(every)
    named = every if answer == "other" else ("none", *rivals)
    prior = dict.fromkeys(named, of_each)
    prior |= {rival: of_each + doubt * _OF_RIVALS / len(rivals) for rival in rivals}
    return prior | {answer: confidence}
