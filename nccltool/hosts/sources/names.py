"""The host's name, and what names resolve to: Gloo and torchrun stand on it."""

import socket
from collections.abc import Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import HostNames, Text, Texts
from nccltool.hosts.sources.base import Source, Tree, within

_LOCAL = ("localhost", "localhost.localdomain", "ip6-localhost", "localhost4", "localhost6")


def read(tree: Tree, env: Mapping[str, str], seconds: float) -> HostNames:
    """Looks names up, each with its own deadline: a dead name server costs many seconds."""
    hostname = tree.text("/proc/sys/kernel/hostname")
    if isinstance(hostname, Unknown) and tree.live:
        hostname = socket.gethostname()
    master = env.get("MASTER_ADDR", "")
    lines = tree.lines("/etc/hosts")
    asked = [hostname if isinstance(hostname, str) else "", master]
    if tree.live:
        found = within(seconds, [(f"the look-up of {name!r}", lambda name=name: _resolve(name)) for name in asked])  # type: ignore[misc]
        own, theirs = (one if isinstance(one, Unknown | tuple) else () for one in found)
    else:
        own, theirs = (_captured(lines, name) for name in asked)
    return HostNames(
        hostname=hostname,
        addresses=hostname if isinstance(hostname, Unknown) else own,
        master_addr=theirs if master else Unknown("MASTER_ADDR is not set"),
        hosts_lines=_chosen(lines, {*asked, *_LOCAL} - {""}),
        nsswitch_hosts=_nsswitch(tree),
    )


def _resolve(name: str) -> Texts:
    if not name:
        return ()
    try:
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        temporary = error.errno == socket.EAI_AGAIN
        return Unknown(f"the look-up of {name!r} failed: {error.strerror}") if temporary else ()
    except (OSError, UnicodeError, ValueError):  # UnicodeError: a label that is too long
        return ()
    return tuple(dict.fromkeys(str(info[4][0]) for info in found))


def _captured(lines: Texts, name: str) -> Texts:
    """Name servers are those of another place; /etc/hosts is the host's own."""
    if isinstance(lines, Unknown):
        return lines
    if _is_address(name):
        return (name,)
    found = [words[0] for words in map(_words, lines) if name in words[1:]]
    return tuple(found) or Unknown(f"/etc/hosts does not have {name!r}, and a captured tree asks no name server")


def _is_address(name: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, name)
        except (OSError, ValueError):  # ValueError: a NUL inside
            continue
        return True
    return False


def _words(line: str) -> list[str]:
    return line.partition("#")[0].split()


def _chosen(lines: Texts, names: set[str]) -> Texts:
    """A cluster's file has thousands of lines."""
    if isinstance(lines, Unknown):
        return lines
    found = [" ".join(words) for words in map(_words, lines) if names.intersection(words[1:])]
    return tuple(found[:32])


def _nsswitch(tree: Tree) -> Text:
    lines = tree.lines("/etc/nsswitch.conf")
    if isinstance(lines, Unknown):
        return lines
    return next((" ".join(line.split()) for line in lines if line.startswith("hosts:")), "")


SOURCES = (Source("names", "names", read),)
