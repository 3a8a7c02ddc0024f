"""JUDGE a training that is not that of the reference: whose part is wrong, and what explains the numbers. Pure."""

import math
from collections.abc import Iterable, Sequence

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import named
from nccltool.train.events import SHARE_OFF, Diverged, Shares
from nccltool.train.finding_kinds import TRAIN_WRONG

_RANKS_NAMED = 8
_SHARES_NAMED = 4


def finding(
    name: str, wrong: Sequence[Diverged], world_size: int, replicas: int, micro_batches: int, is_compressed: bool
) -> Finding:
    """Of a strategy: the first step in which a rank differed, which ranks did, and what explains it.

    `replicas` of the model share out the batch; 0 = not known.
    """
    first = min(event.number for event in wrong)
    there = _most_telling([event for event in wrong if event.number == first])
    named, blamed = _ranks(there, world_size, replicas, micro_batches)
    event = next((event for event in there if event.rank == blamed), there[0])
    subject = Subject(kind="run", name=name) if blamed is None else Subject(kind="rank", name=str(blamed))
    return TRAIN_WRONG.finding(
        subject=subject,
        message=f"{name}: {_what(event)} of {named} {_differ(event)} from the reference in step {first}",
        evidence=tuple(_evidence(event, is_compressed)),
        remedy=_remedy(event),
    )


def _remedy(event: Diverged) -> str:
    if not _is_finite_alone(event):
        return "choose a smaller --learning-rate or a --dtype with a larger range"
    if event.what in ("state", "stop", "frozen"):
        return "check the code of the strategy: this never crosses a link"
    return (
        "do not train on these hosts: run nccltool probe -c 20 to look for a link that corrupts data; "
        "also check the code of the strategy"
    )


def _is_finite_alone(event: Diverged) -> bool:
    return math.isfinite(float(event.expected))


_TELLING = (
    "frozen",
    "parameters",
    "loss",
    "gradient",
    "noise",
    "share",
    "update",
    "validation",
    "stop",
    "state",
    "compression",
)
"""What is of one rank alone comes before what ranks have from each other: parameters that changed between two
steps spoil every rank's loss, wrong data one rank's loss and every rank's gradient."""


def _most_telling(wrong: Sequence[Diverged]) -> list[Diverged]:
    level = min(_TELLING.index(event.what) for event in wrong)
    return sorted((event for event in wrong if event.what == _TELLING[level]), key=lambda event: event.rank)


def _ranks(there: Sequence[Diverged], world: int, replicas: int, micro_batches: int) -> tuple[str, int | None]:
    """(in words, the one that is to blame)."""
    if len(there) == 1:
        return f"rank {there[0].rank}", there[0].rank
    if len(there) < world:
        return f"ranks {named((str(event.rank) for event in there), _RANKS_NAMED)}", None
    shares = there[0].shares
    if shares is not None and shares.odd < micro_batches and replicas > 1:
        each = micro_batches // replicas
        owners = {index // each for index, _ in shares.shown}  # the first and the last are among them
        if len(owners) == 1:
            (owner,) = owners
            if replicas < world:  # ranks of one replica have the same data
                return f"all ranks (the part from replica {owner} of {replicas} is wrong)", None
            return f"all ranks (the part from rank {owner} is wrong)", owner
    return "all ranks", None


_WORDS = {
    "update": "the updated parameters",
    "frozen": "the frozen parameters",
    "share": "the weight of a micro-batch in the gradient",
    "noise": "the gradient norm of micro-batches",
    "state": "the state carried to the next step",
    "compression": "the compression error",
    "validation": "the validation loss",
    "stop": "the decision to stop",
}
_SINGULAR = ("loss", "gradient", "noise", "share", "state", "compression", "validation", "stop")


def _what(event: Diverged) -> str:
    return _WORDS.get(event.what, f"the {event.what}")


def _differ(event: Diverged) -> str:
    return "differs" if event.what in _SINGULAR else "differ"


def _evidence(event: Diverged, is_compressed: bool) -> Iterable[str]:
    if event.what == "frozen":
        yield f"rank {event.rank}: {float(event.got):.0f} numbers changed that are not trained"
        return
    value = {"loss": "value", "validation": "value", "stop": "value", "share": "weight"}.get(event.what, "norm")
    yield (
        f"rank {event.rank}: {value} {float(event.got):.9g}, expected {float(event.expected):.9g}; "
        f"off by {float(event.error):.3g}, tolerance {event.tolerance:.3g} (relative)"
    )
    if not _is_finite_alone(event):
        yield "the single-process run is not finite there either: it does not converge"
    elif event.shares and (text := _shares(event.shares)):
        yield text
    elif event.what == "gradient" and float(event.got) == 0:
        yield "the gradient is all zeros: it was lost or never arrived"
    elif event.what == "gradient" and not is_compressed:
        yield "no weighting of the micro-batches explains the gradient, so its values were corrupted"


def _shares(shares: Shares) -> str:
    widest = max(abs(shares.least), abs(shares.most))
    if shares.odd == shares.micro_batches and shares.most - shares.least < SHARE_OFF * widest:
        return (
            f"the whole gradient is {shares.most:.3g} times as large as it should be: "
            "perhaps summed instead of averaged"
        )
    parts = [f"micro-batch {index} counts {share:.3g} times" for index, share in shares.shown[:_SHARES_NAMED]]
    if len(parts) < shares.odd:
        parts.append(f"{shares.odd - len(parts)} more are wrong")
    return f"the gradient is wrong because {', '.join(parts)}; the others count once" if parts else ""
