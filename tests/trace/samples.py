"""Events as torch.profiler writes them, and the shipped traces of a real run."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nccltool.trace.builder import TraceBuilder
from nccltool.trace.json_events import EVENTS
from nccltool.trace.result import RankTrace

SHIPPED = Path(__file__).parent.parent / "docs/shipped/traced"
"""Four Gloo ranks on one host, 8 steps of ddp, rank 2 delayed by 30 ms in each: only steps, collectives, and long
operators are in it."""


def event(name: str, begin: float, took: float, category: str = "cpu_op", **args: Any) -> dict[str, Any]:
    """Times in microseconds."""
    return {"ph": "X", "cat": category, "name": name, "ts": begin, "dur": took, "pid": 1, "tid": 1, "args": args}


def info(rank: int, ranks: int, group: str = "0") -> dict[str, Any]:
    groups = [{"pg_name": group, "ranks": list(range(ranks))}]
    return {"backend": "gloo", "rank": rank, "world_size": ranks, "pg_config": groups}


def built(*events: Any, rank: int = 0, ranks: int = 1, ends_early: bool = False) -> RankTrace:
    builder = TraceBuilder(f"rank{rank}.json")
    builder.take("distributedInfo", info(rank, ranks))
    for one in events:
        builder.take(EVENTS, one)
    return builder.built(ends_early=ends_early)


def ranks_of(durations: Sequence[Sequence[float]], step_us: float = 100_000) -> list[RankTrace]:
    """A trace per rank: `durations[step][rank]` are microseconds in the only collective of each step."""
    world = len(durations[0])
    return [
        built(
            *(
                event(f"ProfilerStep#{at}", at * step_us, step_us, "user_annotation")
                for at in range(len(durations))
            ),
            *(
                event("gloo:all_reduce", at * step_us + 10, step[rank], "user_annotation")
                for at, step in enumerate(durations)
            ),
            rank=rank,
            ranks=world,
        )
        for rank in range(world)
    ]


def write(file: Path, *events: Any, rank: int = 0, ranks: int = 1) -> Path:
    file.write_text(json.dumps({"distributedInfo": info(rank, ranks), "traceEvents": list(events)}))
    return file
