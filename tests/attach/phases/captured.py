"""Stacks that py-spy took of real torchrun jobs over Gloo: torch 2.13, Python 3.11, with native frames or without.

Each file is a job whose script went wrong by itself: stacks/NAME.json, rank -> state, children, and frames.
"""

import json
from pathlib import Path
from typing import Any

from nccltool.attach.seen.process import StackFrame, ThreadStack

FOLDER = Path(__file__).with_name("stacks")


def ranks(job: str) -> dict[str, dict[str, Any]]:
    return dict(json.loads((FOLDER / f"{job}.json").read_text()))


def stacks(job: str, rank: str, how: str = "python") -> tuple[ThreadStack, ...]:
    return tuple(
        ThreadStack(
            pid=1000 + (int(rank) if rank.isdigit() else 0),
            name=one["thread_name"],
            trains=one["thread_name"] == "MainThread",
            active=one["active"],
            owns_gil=one["owns_gil"],
            is_native=how == "native",
            frames=tuple(StackFrame(name=name, file=file, line=line) for name, file, line in one["frames"]),
        )
        for one in ranks(job)[rank][how]
    )
