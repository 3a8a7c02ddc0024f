"""The hosts that --hosts or --hostfile names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.host_lists import has_wide_range, unfold
from nccltool.core.user_files import contents
from nccltool.launch.options import StartOptions

_LONGEST_NAME = 253
"""Of the DNS."""

MOST = 10_000
"""Hosts; more is a slip of the keyboard."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host as the user named it: user@name:port."""

    name: str
    user: str = ""
    port: int = 0

    @property
    def word(self) -> str:
        """As --hosts takes it."""
        name = f"[{self.name}]" if ":" in self.name else self.name
        return (f"{self.user}@" if self.user else "") + name + (f":{self.port}" if self.port else "")


def parse_hosts(text: str, where: str = "--hosts") -> tuple[Host, ...]:
    """Hosts of `n[01-64],user@x3:2222,[fd00::1]:22`, in the order of the list. Raises BadInput."""
    return _each_once([(host, where) for word in _split(text, where) for host in _expand(word, where)], where)


def parse_hostfile(text: str, where: str) -> tuple[Host, ...]:
    """Hosts of a file: one or more a line, # begins a comment. Raises BadInput with the line."""
    hosts: list[tuple[Host, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        there = f"{where} line {number}"
        if len(words) > 1:
            raise BadInput(
                f"{there}: {' '.join(words[1:])[:60]!r} is not understood",
                "write one host or set of hosts per line; --nproc-per-node sets the ranks per host",
            )
        hosts += [(host, there) for word in words for part in _split(word, there) for host in _expand(part, there)]
    return _each_once(hosts, where)


def _each_once(hosts: Sequence[tuple[Host, str]], where: str) -> tuple[Host, ...]:
    if not hosts:
        raise BadInput(f"{where} names no host", "for example n[01-04]")
    if len(hosts) > MOST:
        raise BadInput(f"{where} names more than {MOST} hosts", "check the ranges: one may be too wide")
    seen: set[tuple[str, int]] = set()
    for host, there in hosts:
        if (host.name, host.port) in seen:
            raise BadInput(
                f"{there}: {host.name} is named twice",
                "name every host once; --nproc-per-node sets the ranks per host",
            )
        seen.add((host.name, host.port))
    return tuple(host for host, _ in hosts)


def _split(text: str, where: str) -> list[str]:
    """At commas outside of brackets."""
    if re.search(r"[\[\]]", re.sub(r"\[[^\[\]]*\]", "", text)):
        raise BadInput(f"{where} {text[:60]!r}: the brackets do not match", "for example n[01-04],x3")
    return [word.strip() for word in re.findall(r"(?:\[[^\[\]]*\]|[^,\[\]])+", text) if word.strip()]


_WORD = re.compile(
    r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.$-]*)@)?"
    r"(?:\[(?P<v6>(?=[0-9A-Fa-f.]*:)[0-9A-Fa-f:.]{2,45}(?:%[\w.-]+)?)\]|(?P<name>[A-Za-z0-9_\[](?:[A-Za-z0-9_.\[\],-]|(?<=\d)/(?=\d))*))"
    r"(?::(?P<port>\d{1,5}))?"
)


def _expand(word: str, where: str) -> list[Host]:
    is_bare_v6 = word.count(":") > 1 and "[" not in word and "@" not in word
    match = _WORD.fullmatch(f"[{word}]" if is_bare_v6 else word)
    port = int(match["port"] or 0) if match else 0
    if match is None or port > 65535 or (match["port"] and not port):
        raise BadInput(
            f"{where}: {word[:60]!r} is not a host", "write a host as name, user@name, name:port, or n[01-04]"
        )
    user = match["user"] or ""
    if match["v6"]:
        return [Host(match["v6"], user, port)]
    return [Host(name, user, port) for name in _names(match["name"], word, where)]


def _names(nodes: str, word: str, where: str) -> list[str]:
    if has_wide_range(nodes, MOST):
        raise BadInput(
            f"{where}: {word[:60]!r} expands to more than {MOST} hosts", "check the range: it may be too wide"
        )
    try:
        names = unfold(nodes, MOST)
    except ValueError as error:
        raise BadInput(f"{where}: {word[:60]!r} is not a set of hosts: {error}", "for example n[01-04]") from error
    if len(names) > MOST:
        raise BadInput(
            f"{where}: {word[:60]!r} expands to more than {MOST} hosts", "check the ranges: one may be too wide"
        )
    if any("/" in name or len(name) > _LONGEST_NAME for name in names):
        raise BadInput(f"{where}: {word[:60]!r} is not a host", f"a name has at most {_LONGEST_NAME} characters")
    return names


def named_hosts(options: StartOptions) -> tuple[Host, ...]:
    """Of --hosts or --hostfile. Raises BadInput."""
    if options.hosts is not None:
        return parse_hosts(options.hosts)
    file = Path(options.hostfile or "")
    try:
        text = contents(file, "--hostfile").decode("utf-8-sig")  # some editors begin files with a mark
    except UnicodeDecodeError as error:
        raise BadInput(f"--hostfile {file}: not a text file", "name a file with one host per line") from error
    return parse_hostfile(text, f"--hostfile {file}")
