"""JUDGE a training that is not that of the reference: whose part is wrong, and what explains the numbers. Pure."""

import math
from collections.abc import Iterable, Sequence

from nccltool.core.findings import Finding, Subject
from nccltool.train.events import Diverged
from nccltool.train.finding_kinds import TRAIN_WRONG


def finding(
    name: str, wrong: Sequence[Diverged], world_size: int, micro_batches: int, is_compressed: bool
) -> Finding:
    """Of a strategy: the first step in which a rank differed, which ranks did, and what explains it."""
    first = min(event.number for event in wrong)
    there = _most_telling([event for event in wrong if event.number == first])
    named, blamed = _ranks(there, world_size, micro_batches)
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
        return "choose a smaller --learning-rate, or a --dtype with a larger range"
    return (
        "do not train on this: nccltool probe -c 20 looks for the link that corrupts; "
        "is the code of the strategy right?"
    )


def _is_finite_alone(event: Diverged) -> bool:
    return math.isfinite(float(event.expected))


_TELLING = ("parameters", "loss", "gradient", "update")
"""What is of one rank alone comes before what ranks have from each other: parameters that changed between two
steps spoil every rank's loss, wrong data one rank's loss and every rank's gradient."""


def _most_telling(wrong: Sequence[Diverged]) -> list[Diverged]:
    level = min(_TELLING.index(event.what) for event in wrong)
    return sorted((event for event in wrong if event.what == _TELLING[level]), key=lambda event: event.rank)


def _ranks(there: Sequence[Diverged], world: int, micro_batches: int) -> tuple[str, int | None]:
    """(in words, the one that is to blame)."""
    if len(there) == 1:
        return f"rank {there[0].rank}", there[0].rank
    if len(there) < world:
        return f"ranks {', '.join(str(event.rank) for event in there)}", None
    odd = _odd_shares(there[0].shares)
    if len(odd) < micro_batches and micro_batches % world == 0:
        owners = {index // (micro_batches // world) for index in odd}
        if len(owners) == 1:
            (owner,) = owners
            return f"all ranks (the part of rank {owner} is wrong in it)", owner
    return "all ranks", None


SHARE_OFF = 0.01
"""A micro-batch that is in a gradient with a weight this far from 1 was left out, counted twice or scaled."""


def _odd_shares(shares: Sequence[float]) -> list[int]:
    return [index for index, share in enumerate(shares) if abs(share - 1) > SHARE_OFF]


def _what(event: Diverged) -> str:
    return "the updated parameters" if event.what == "update" else f"the {event.what}"


def _differ(event: Diverged) -> str:
    return "differs" if event.what in ("loss", "gradient") else "differ"


def _evidence(event: Diverged, is_compressed: bool) -> Iterable[str]:
    value = "value" if event.what == "loss" else "norm"
    yield (
        f"rank {event.rank}: {value} {float(event.got):.9g}, expected {float(event.expected):.9g}; "
        f"off by {float(event.error):.3g}, tolerance {event.tolerance:.3g} (relative)"
    )
    if not _is_finite_alone(event):
        yield "the training in one process has no finite number there either: it does not converge"
    elif event.shares and (text := _shares(event.shares)):
        yield text
    elif event.what == "gradient" and float(event.got) == 0:
        yield "all of it is zero: it was lost, or never came"
    elif event.what == "gradient" and not is_compressed:
        yield "no weights of the micro-batches explain the gradient: numbers in it were damaged"


def _shares(shares: Sequence[float]) -> str:
    odd = _odd_shares(shares)
    if odd and len(odd) == len(shares) and max(shares) - min(shares) < SHARE_OFF * max(map(abs, shares)):
        return f"the whole gradient is {shares[0]:.3g} times as large: summed where it should be averaged?"
    parts = [f"micro-batch {index} counts {shares[index]:.3g} times" for index in odd[:4]]
    return "the gradient is explained by: " + ", ".join(parts) + ", the others once" if parts else ""
