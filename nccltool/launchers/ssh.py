"""Hosts that are reached by ssh: one ssh a host, whose far end is a node process that speaks over its pipes.

ssh's own configuration, keys and known hosts are respected; nothing is asked (BatchMode). Only the Python to use
is in the remote command: the job and its variables cross on standard input, so there is nothing to quote.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nccltool.errors import BadInput
from nccltool.launchers.base import WORKER, Command, Launch
from nccltool.model import Finding, Subject

CONNECT_S = 10
"""A host in the same cluster answers in milliseconds; ssh itself would wait for TCP, two minutes."""
_OPTIONS = (
    "-T",
    "-oBatchMode=yes",
    f"-oConnectTimeout={CONNECT_S}",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    "-oForwardX11=no",
    "-oClearAllForwardings=yes",
)
FINDINGS: Mapping[str, str] = {
    "host-lost": "error",
    "host-misconfigured": "error",
    "host-refused": "error",
    "host-unknown": "error",
    "host-unreachable": "error",
}
FAILED = 255
"""ssh's exit code when it, and not the remote command, failed."""


@dataclass(frozen=True, slots=True)
class Host:
    """A host as the user named it: user@name:port."""

    name: str
    user: str = ""
    port: int = 0


def parse_hosts(text: str, where: str = "--hosts") -> tuple[Host, ...]:
    """Hosts of `n[01-64],user@x3:2222,[fd00::1]:22`, in the order of the list. Raises BadInput."""
    hosts = [host for word in _split(text, where) for host in _expand(word, where)]
    if not hosts:
        raise BadInput(f"{where} names no host", f"{where} n[01-04]")
    names = [host.name for host in hosts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadInput(f"{where}: {twice} is named twice", "name every host once; --nproc-per-node sets its ranks")
    return tuple(hosts)


def _split(text: str, where: str) -> list[str]:
    """At commas outside of brackets."""
    depth, words = 0, [""]
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            words.append("")
        else:
            words[-1] += character
    if depth:
        raise BadInput(f"{where} {text[:60]!r}: a bracket is not closed", "for example n[01-04],x3")
    return [word.strip() for word in words if word.strip()]


_WORD = re.compile(
    r"(?:(?P<user>[A-Za-z0-9_.$-]+)@)?(?P<name>\[[0-9A-Fa-f:.%a-z0-9]*:[^\]]*\]|[A-Za-z0-9_.\[\],-]+)(?::(?P<port>\d{1,5}))?"
)


def _expand(word: str, where: str) -> list[Host]:
    match = _WORD.fullmatch(word)
    port = int(match["port"] or 0) if match else 0
    if match is None or match["name"].startswith("-") or port > 65535:
        raise BadInput(f"{where}: {word[:60]!r} is not a host", "a host is name, user@name, name:port or n[01-04]")
    name, user = match["name"], match["user"] or ""
    if name.startswith("["):  # an IPv6 address
        return [Host(name[1:-1], user, port)]
    from ClusterShell.NodeSet import NodeSet, NodeSetParseError

    try:
        return [Host(str(node), user, port) for node in NodeSet(name)]
    except NodeSetParseError as error:
        raise BadInput(f"{where}: {word[:60]!r} is not a set of hosts: {error}", "for example n[01-04]") from error


def parse_hostfile(text: str, where: str) -> tuple[Host, ...]:
    """Hosts of a file: one or more a line, # begins a comment. Raises BadInput with the line."""
    hosts: list[Host] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if len(words) > 1:
            raise BadInput(
                f"{where} line {number}: {' '.join(words[1:])[:60]!r} is not understood",
                "one host or set of hosts a line; --nproc-per-node sets the ranks of a host",
            )
        for word in words:
            hosts.extend(parse_hosts(word, f"{where} line {number}"))
    return parse_hosts(",".join(_word(host) for host in hosts), where) if hosts else parse_hosts("", where)


def _word(host: Host) -> str:
    name = f"[{host.name}]" if ":" in host.name else host.name
    return f"{host.user}@{name}:{host.port}" if host.user else f"{name}:{host.port}"


def launch(hosts: Sequence[Host], program: Sequence[str], remote_python: str, why: str) -> Launch:
    """An ssh (`program`: its words) for each host; node rank = place in the list."""
    remote = " ".join([shlex.quote(remote_python), *WORKER])
    commands = tuple(
        Command(argv=(*program, *_OPTIONS, *_target(host), remote), nodes=(number,), host=host.name)
        for number, host in enumerate(hosts)
    )
    return Launch(launcher="ssh", why=why, commands=commands, remote=True, explain=explain)


def _target(host: Host) -> tuple[str, ...]:
    port = (f"-p{host.port}",) if host.port else ()
    user = ("-l", host.user) if host.user else ()
    return (*port, *user, "--", host.name)


@dataclass(frozen=True, slots=True)
class _Cause:
    pattern: str
    code: str
    what: str
    remedy: str


_CAUSES = (
    _Cause("Could not resolve hostname", "host-unknown", "its name is not known here", "see /etc/hosts and DNS"),
    _Cause(
        "Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED",
        "host-refused",
        "its host key is not the one that is known",
        "log in once with ssh and look at the key, or distribute the cluster's known_hosts",
    ),
    _Cause(
        "Permission denied|Too many authentication failures",
        "host-refused",
        "it does not let this user in without a password",
        "set up a key: ssh-copy-id, or an agent; user@host names another user",
    ),
    _Cause(
        "Connection refused",
        "host-refused",
        "no sshd answers on this port",
        "start sshd there, or name its port: host:2222",
    ),
    _Cause(
        "Connection timed out|No route to host|Network is unreachable|Operation timed out",
        "host-unreachable",
        "it does not answer",
        "is it up? ping it; look at its network and at firewalls",
    ),
    _Cause(
        "server .* not responding|Connection to .* closed by remote host|Broken pipe|Connection reset",
        "host-lost",
        "the connection to it was lost",
        "did it go down? look at its console and uptime",
    ),
    _Cause(
        "No module named '?(nccltool|torch|msgspec|numpy)",
        "host-misconfigured",
        "its Python lacks a package",
        "install nccltool there, or name the right one: --remote-python /path/to/venv/bin/python",
    ),
    _Cause(
        "No such file or directory|command not found|not found",
        "host-misconfigured",
        "it has no such Python",
        "name the one to use there: --remote-python /path/to/venv/bin/python",
    ),
)


def explain(host: str, exit_code: int, lines: Sequence[str]) -> Finding | None:
    """Why an ssh ended before its node was done, from its exit code and what it and the far end said."""
    text = "\n".join(lines)
    ssh_failed = exit_code == FAILED
    cause = next((c for c in _CAUSES if re.search(c.pattern, text) and _fits(c, ssh_failed)), None)
    if cause is None and not ssh_failed:
        return None
    code, what, remedy = ("host-lost", "ssh failed", "try: ssh " + host) if cause is None else _parts(cause)
    return Finding(
        code=code,
        severity="error",
        subject=Subject(kind="host", name=host),
        message=f"{host} cannot be used: {what}",
        evidence=tuple(line.strip()[:300] for line in lines if line.strip())[-4:],
        remedy=remedy,
    )


def _fits(cause: _Cause, ssh_failed: bool) -> bool:
    """The far end's complaints count when the far end ended, ssh's own when ssh did."""
    return (cause.code == "host-misconfigured") != ssh_failed


def _parts(cause: _Cause) -> tuple[str, str, str]:
    return cause.code, cause.what, cause.remedy
