"""What NCCL logs on the ranks: without its warnings nobody learns what it met before it failed."""

from collections.abc import MutableMapping
from pathlib import Path

from nccltool.core import versions
from nccltool.core.unknown import Unknown
from nccltool.hosts.nccl import settings
from nccltool.hosts.reader import settings_facts

_VARIABLE, _LEVEL = "NCCL_DEBUG", "WARN"


def ask_for_warnings(
    backend: str, nccl: str | None, environ: MutableMapping[str, str], root: Path = Path("/")
) -> tuple[str, ...]:
    """Have NCCL or RCCL log warnings, where neither environment nor configuration files say how much.

    Before the first call of it. Returns what was set, as NAME=value.
    """
    if backend != "nccl" or _VARIABLE in environ:
        return ()
    facts = settings_facts(environ, root)
    said = settings.of(facts, versions.parse(nccl or "")).get(_VARIABLE) is not None
    if said or any(isinstance(file.exists, Unknown) for file in facts.conf_files):  # a home that hangs may say it
        return ()
    environ[_VARIABLE] = _LEVEL
    return (f"{_VARIABLE}={_LEVEL}",)
