"""Reads layouts as JSON from standard input, counts each, and writes what was counted to standard output."""

import sys
import warnings

import msgspec
import torch

from nccltool.plan.counted import CountOrder, CountResult
from nccltool.worker.plan import counting


def main() -> None:
    """A layout that torch refuses is a result too."""
    warnings.simplefilter("ignore")  # of torch, about prototypes
    torch.set_num_threads(1)
    orders = msgspec.json.decode(sys.stdin.buffer.read(), type=tuple[CountOrder, ...])
    results = []
    for one in orders:
        try:
            rank = counting.count(one.model, one.layout, one.recipe, one.rank)
            results.append(CountResult(rank=rank))
        except Exception as error:  # noqa: BLE001 - whatever torch raises is why it was not counted
            results.append(CountResult(error=f"{type(error).__name__}: {str(error)[:300]}"))
    sys.stdout.buffer.write(msgspec.json.encode(results))


if __name__ == "__main__":
    main()
