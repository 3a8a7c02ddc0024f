"""What is known of each way to train without torch: its name, and the options that it takes, a file each."""

from collections.abc import Mapping
from dataclasses import Field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nccltool.core import members

if TYPE_CHECKING:
    from nccltool.train.strategies.base import OptionValue

NAMES = tuple(name.replace("-", "_") for name in members.names(__path__))
_WORDS = {"three_d": "3d", "tp_fsdp": "tp+fsdp", "tp_moe": "tp+moe"}


def word_of(strategy: str) -> str:
    """The name as texts write it: not each can be that of a module."""
    return _WORDS.get(strategy, strategy)


WORDS = tuple(sorted(map(word_of, NAMES)))


def takes(strategy: str) -> dict[str, Field[Any]]:
    """The options that are for this strategy and not for all, by name: those of `Options` in its file."""
    from nccltool.train.strategies.base import StrategyOptions

    group = getattr(import_module(f"{__name__}.{strategy}"), "Options", StrategyOptions)
    return {field.name: field for field in fields(group)}


def options() -> dict[str, Field[Any]]:
    """Those of `nccltool train`; the others are set by `--tune` alone."""
    return {name: field for strategy in NAMES for name, field in takes(strategy).items() if field.metadata}


def given(words: Mapping[str, Any]) -> "dict[str, OptionValue]":
    """What of them was asked for, of what `nccltool train` was given; the others have their default."""
    from nccltool.train.strategies.base import word

    asked = {}
    for name, field in options().items():
        value = words[word(field).lstrip("-").replace("-", "_")]
        if isinstance(field.default, bool):
            value = value != field.default
        if value == "" or value not in (None, field.default):  # an empty word is a mistake that is told
            asked[name] = value
    return asked
