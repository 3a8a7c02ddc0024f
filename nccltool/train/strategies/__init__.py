"""What is known of each way to train without torch: its name, and the options that it takes, a file each."""

from dataclasses import fields
from importlib import import_module
from pathlib import Path

NAMES = tuple(
    sorted(file.stem for file in Path(__file__).parent.glob("*.py") if file.stem not in ("__init__", "base"))
)
_WORDS = {"three_d": "3d", "tp_fsdp": "tp+fsdp"}
WORDS = tuple(sorted(_WORDS.get(name, name) for name in NAMES))
"""The names as help texts write them: not each can be that of a module."""


def takes(name: str) -> frozenset[str]:
    """The options of this strategy that are not for all, as fields of TrainSpec."""
    options = import_module(f"nccltool.train.strategies.{name}").Options
    return frozenset(field.name for field in fields(options))
