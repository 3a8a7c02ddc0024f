"""Stages of preflight, in the order in which they run."""

import inspect
from collections.abc import Sequence

from nccltool.cli.help_pages.base import known, titled
from nccltool.core import members
from nccltool.preflight import stages
from nccltool.preflight import suite_toml as toml
from nccltool.preflight.result import Check

ABOUT = "parts of a suite; nccltool preflight runs them in this order"


def names() -> Sequence[str]:
    return stages.NAMES


def page(word: str) -> str | None:
    name = known(word, names())
    if name is None:
        return None
    module = members.module(stages.__name__, name, family="checks")
    stage = next(one for one in stages.every() if one.name == name)
    checks = [str(one) for one in vars(module).values() if isinstance(one, Check)]
    lines = [(inspect.getdoc(module) or "").partition("\n\n")[0]]
    lines += (
        [f"Runs after: {', '.join(stage.needs)}; it is skipped if one of these failed."] if stage.needs else []
    )
    lines += [f"Checks: {', '.join(checks)}."] if checks else []
    keys = [f"{name}.{key}" for key in toml.keys(stage.part.of)] if stage.part.of else []
    lines += [f"Keys in a suite: {', '.join(f'`{key}`' for key in keys)}."] if keys else []
    lines += [f"Alone: `nccltool preflight --only {name}`"]
    return titled(name, "stage of preflight", "\n\n".join(lines))
