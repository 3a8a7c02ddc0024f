"""What a case of a rule is made of.

A module of tests/doctor/rules/cases holds the cases of one family: a tuple CASES of
`of(CODE, fires=..., silent=..., unknown=...)`. Each of the three is at least one host; `unknown` is by default one
whose environment could not be read: for rules that need nothing else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from nccltool.core.versions import Version
from nccltool.doctor import judge
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts import env_files
from nccltool.hosts.facts import ConfFile, FileFact, HostFacts
from nccltool.hosts.nccl.settings import NcclSettings

Expectation = Literal["fires", "silent", "unknown"]
UNREAD = JudgedHost(settings=NcclSettings(unread="/proc/4242/environ cannot be read: Permission denied"))


def host(
    env: Mapping[str, str] | None = None,
    *,
    files: Mapping[str, str] | None = None,
    nccl: tuple[int, int, int] | None = (2, 30, 7),
    nodes: int | None = 2,
    local_ranks: int | None = 8,
    files_: tuple[FileFact, ...] = (),
    env_file: str = "",
    **parts: Any,
) -> JudgedHost:
    """A host: environment, configuration files by role (`system`, `home`, `NCCL_CONF_FILE`), parts of facts.

    `env_file`: the text of a file of variables, in place of `env`.
    """
    given = (env_files.read(env_file.encode(), "job.env", {}),) if env_file else ()
    env = env_files.environment(given) if given else env
    paths = {"system": "/etc/nccl.conf", "home": "/root/.nccl.conf", "NCCL_CONF_FILE": "/opt/site/nccl.conf"}
    conf_files = tuple(ConfFile(role=role, path=paths[role], text=text) for role, text in (files or {}).items())
    facts = HostFacts(**{"host": "n1", "env": dict(env or {}), "conf_files": conf_files, "files": files_, **parts})
    return judge.host_of(facts, Version(*nccl) if nccl else None, nodes, local_ranks, env_files=given)


@dataclass(frozen=True)
class Case:
    """What one rule must say of one host (or of several, for a rule about all of a job)."""

    code: str
    expect: Expectation
    hosts: tuple[JudgedHost, ...]
    number: int

    def __str__(self) -> str:
        return f"{self.code} {self.expect} {self.number}"


One = JudgedHost | tuple[JudgedHost, ...]


def of(
    code: str, *, fires: Sequence[One], silent: Sequence[One], unknown: Sequence[One] = (UNREAD,)
) -> tuple[Case, ...]:
    """The cases of a rule."""
    kinds: tuple[tuple[Expectation, Sequence[One]], ...] = (
        ("fires", fires),
        ("silent", silent),
        ("unknown", unknown),
    )
    return tuple(
        Case(code, expect, one if isinstance(one, tuple) else (one,), number)
        for expect, ones in kinds
        for number, one in enumerate(ones)
    )
