"""LOOK at a host: a module for what is found in one place, without torch; roots can be captured trees."""

import pkgutil
from importlib import import_module

from nccltool.hosts.sources.base import Source


def every() -> tuple[Source, ...]:
    """What the modules of this folder name in SOURCES."""
    modules = [import_module(info.name) for info in pkgutil.iter_modules(__path__, f"{__name__}.")]
    return tuple(one for module in modules for one in getattr(module, "SOURCES", ()))
