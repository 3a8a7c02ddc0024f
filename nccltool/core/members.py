"""What can vary is a file in a folder named after what varies; its members are found by listing that folder.

Where its family has a name, plug-ins of other packages are members too.
"""

from collections.abc import Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from nccltool.core import plugins


def names(
    folder: Iterable[str], first: Sequence[str] = (), family: plugins.Family | None = None
) -> tuple[str, ...]:
    """As users write them, without importing them: `first` in its order, then the others by the alphabet. Those of
    plug-ins come last, and are imported: one that cannot be used is none."""
    files = (file.stem for place in folder for file in Path(place).glob("[!_]*.py"))
    found = {name.replace("_", "-") for name in files} - {"base"}
    own = (*(name for name in first if name in found), *sorted(found.difference(first)))
    return (*own, *plugins.usable(family, own)) if family else own


def module(package: str, name: str, family: plugins.Family | None = None) -> ModuleType:
    """The member of a package that users call `name`."""
    if family and (found := plugins.usable(family).get(name)) and not _is_own(package, name):
        return found
    return import_module(f"{package}.{name.replace('-', '_')}")


def _is_own(package: str, name: str) -> bool:
    return find_spec(f"{package}.{name.replace('-', '_')}") is not None
