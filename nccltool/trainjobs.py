"""From the words of `nccltool train` to a Job; every word that cannot be used is one clear sentence."""

import difflib
import os
from collections.abc import Mapping
from typing import Any

from nccltool import dtypes, jobs, launching, runs, strategies
from nccltool.errors import BadInput
from nccltool.jobs import Order
from nccltool.launching import Where
from nccltool.model import Job, TrainSpec

SIZES: dict[str, dict[str, int]] = {
    "tiny": {"layers": 4, "width": 64, "heads": 4, "context": 32, "vocabulary": 256, "batch": 4},
    "125m": {"layers": 12, "width": 768, "heads": 12, "context": 1024, "vocabulary": 50304, "batch": 8},
    "1b": {"layers": 24, "width": 2048, "heads": 16, "context": 1024, "vocabulary": 50304, "batch": 4},
}
"""Layers, width and heads of the smallest and of the 1.3B model in table 2.1 of the paper on GPT-3."""
DTYPES = ("float32", "float64", "bfloat16")
_SHAPE = ("layers", "width", "heads", "context", "vocabulary", "batch")
_AS_GIVEN = (
    *("steps", "seed", "accumulate", "micro_batches", "comm_hook"),
    *("gradient_as_bucket_view", "static_graph", "recompute", "shard", "schedule"),
)


def from_options(options: Mapping[str, Any], env: Mapping[str, str] = os.environ) -> Order:
    """The order that the options of `nccltool train` describe. Raises BadInput."""
    options = launching.joined(options, env)
    where = launching.choose(options, env)
    return jobs.ordered(_job(options, env, where), options, where)


def _job(options: Mapping[str, Any], env: Mapping[str, str], where: Where) -> Job:
    return Job(
        run_id=runs.new_id(),
        kind="train",
        ops=(),
        train=_spec(options),
        fault=jobs.drill_of(env, where),
        **jobs.placed(options, where),
    )


def _spec(options: Mapping[str, Any]) -> TrainSpec:
    shape = SIZES[options["size"]] | {name: options[name] for name in _SHAPE if options[name] is not None}
    if shape["width"] % shape["heads"]:
        raise BadInput(
            f"--width {shape['width']} cannot be divided by --heads {shape['heads']}", "make it a multiple"
        )
    return TrainSpec(
        strategies=_strategies(options["strategy"]),
        timed_steps=options["time_steps"],
        dtype=_dtype(options["dtype"]),
        learning_rate=options["learning_rate"],
        bucket_mib=options["bucket"],
        **shape,
        **{name: options[name] for name in _AS_GIVEN},
    )


def _dtype(word: str) -> str:
    name = dtypes.ALIASES.get(word, word)
    if name not in DTYPES:
        raise BadInput(f"--dtype: {word[:40]!r} is not a type to train in", f"choose from {', '.join(DTYPES)}")
    return name


def _strategies(text: str) -> tuple[str, ...]:
    if text == "all":
        return strategies.NAMES
    words = [word.strip().replace("-", "_").replace("+", "_") for word in text.split(",")]
    words = ["three_d" if word == "3d" else word for word in words]  # no name of a module
    for word in words:
        if word not in strategies.NAMES:
            near = difflib.get_close_matches(word, strategies.NAMES, n=1)
            hint = f"did you mean {near[0]}? " if near else ""
            known = ", ".join((*strategies.NAMES, "all"))
            raise BadInput(f"strategy {word[:40]!r} is not known", f"{hint}choose from {known}")
    return tuple(dict.fromkeys(words))
