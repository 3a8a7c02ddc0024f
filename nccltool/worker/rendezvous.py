"""A rank of a form of rendezvous: it joins as tutorials of torch show, and adds data that is checked."""

import os
import sys
from datetime import timedelta

import msgspec
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

from nccltool.core import processes
from nccltool.launch.rendezvous.trial import RankOrder, RankSum

_ELEMENTS = 4096


def main() -> None:
    """Ends with the command that started it."""
    processes.die_with_parent(os.getppid())
    order = msgspec.json.decode(sys.argv[1], type=RankOrder)
    if order.form == "spawn":
        mp.spawn(_spawned, args=(order,), nprocs=order.ranks)
    else:
        _join(order.rank, order)


def _spawned(rank: int, order: RankOrder) -> None:
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(order.ranks)}
    _join(rank, order)


def _join(rank: int, order: RankOrder) -> None:
    _tell(rank, None)
    timeout = timedelta(seconds=order.timeout_s)
    if order.form in ("env", "spawn"):
        dist.init_process_group("gloo", init_method="env://", timeout=timeout)
    else:
        host = f"[{order.host}]" if ":" in order.host else order.host
        place = f"file://{order.file}" if order.form == "file" else f"tcp://{host}:{order.port}"
        dist.init_process_group("gloo", place, rank=rank, world_size=order.ranks, timeout=timeout)
    mine = torch.arange(_ELEMENTS, dtype=torch.float64) * (rank + 1)
    dist.all_reduce(mine)
    expected = torch.arange(_ELEMENTS, dtype=torch.float64) * (order.ranks * (order.ranks + 1) // 2)
    _tell(rank, int((mine != expected).sum()))
    dist.destroy_process_group()


def _tell(rank: int, wrong: int | None) -> None:
    """In one write, so that lines of several ranks do not mix."""
    os.write(1, msgspec.json.encode(RankSum(rank=rank, wrong=wrong)) + b"\n")


if __name__ == "__main__":
    main()
