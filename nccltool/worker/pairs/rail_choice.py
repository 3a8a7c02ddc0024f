"""This process on one rail alone."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from nccltool.localize.pairs import rails

_ADAPTERS = Path("/sys/class/infiniband")


def variables(rail: str, backend: str) -> dict[str, str]:
    """What the library must find here."""
    return rails.variables(rail, backend, is_adapter=(_ADAPTERS / rail).exists())


@contextlib.contextmanager
def only(rail: str | None, backend: str) -> Iterator[None]:
    """Gloo reads its variable with each process group; NCCL reads its own once, before the first."""
    if rail is None or backend != "gloo":
        yield
        return
    chosen = variables(rail, backend)
    before = {name: os.environ.get(name) for name in chosen}
    os.environ.update(chosen)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
