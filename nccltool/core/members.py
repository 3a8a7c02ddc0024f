"""What can vary is a file in a folder named after what varies; its members are found by listing that folder."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType


def names(folder: Iterable[str], first: Sequence[str] = ()) -> tuple[str, ...]:
    """As users write them, without importing them: `first` in its order, then the others by the alphabet."""
    files = (file.stem for place in folder for file in Path(place).glob("[!_]*.py"))
    found = {name.replace("_", "-") for name in files} - {"base"}
    return (*(name for name in first if name in found), *sorted(found.difference(first)))


def module(package: str, name: str) -> ModuleType:
    """The member of a package that users call `name`."""
    return import_module(f"{package}.{name.replace('-', '_')}")
