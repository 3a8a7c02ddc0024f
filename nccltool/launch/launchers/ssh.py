"""Hosts that are reached by ssh: one ssh a host, whose far end is a node process that speaks over its pipes.

ssh's own configuration, keys and known hosts are respected; nothing is asked (BatchMode). Only the Python to use
is in the remote command: the job and its variables cross on standard input, so there is nothing to quote.
"""

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding, FindingKind, Subject
from nccltool.launch import finding_kinds
from nccltool.launch.launchers.base import WORKER, Command, Launch

CONNECT_S = 7
"""A host in the same cluster answers in milliseconds; ssh itself would wait for TCP, two minutes. A name may have
an IPv4 and an IPv6 address, and both have this time before the host counts as silent."""
_OPTIONS = (
    "-T",
    "-oBatchMode=yes",
    f"-oConnectTimeout={CONNECT_S}",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    "-oForwardX11=no",
    "-oClearAllForwardings=yes",
    "-oRemoteCommand=none",
    "-oControlMaster=no",  # it would stay behind; one that is there already is used
)
"""The words of --ssh come before them, and ssh takes the first value that it is given."""
FAILED = 255
"""ssh's exit code when it, and not the remote command, failed."""


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
                "one host or set of hosts a line; --nproc-per-node sets the ranks of a host",
            )
        hosts.extend(
            (host, there) for word in words for part in _split(word, there) for host in _expand(part, there)
        )
    return _each_once(hosts, where)


def _each_once(hosts: Sequence[tuple[Host, str]], where: str) -> tuple[Host, ...]:
    if not hosts:
        raise BadInput(f"{where} names no host", "for example n[01-04]")
    if len(hosts) > MOST:
        raise BadInput(f"{where} names more than {MOST} hosts", "is a bracket too wide?")
    seen: set[tuple[str, int]] = set()
    for host, there in hosts:
        if (host.name, host.port) in seen:
            raise BadInput(
                f"{there}: {host.name} is named twice", "name every host once; --nproc-per-node sets its ranks"
            )
        seen.add((host.name, host.port))
    return tuple(host for host, _ in hosts)


def _split(text: str, where: str) -> list[str]:
    """At commas outside of brackets."""
    depth, words = 0, [""]
    for character in text:
        depth += (character == "[") - (character == "]")
        if depth not in (0, 1):
            break
        if character == "," and depth == 0:
            words.append("")
        else:
            words[-1] += character
    if depth:
        raise BadInput(f"{where} {text[:60]!r}: the brackets do not match", "for example n[01-04],x3")
    return [word.strip() for word in words if word.strip()]


_WORD = re.compile(
    r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9_.$-]*)@)?"
    r"(?:\[(?P<v6>[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(?:%[\w.-]+)?)\]|(?P<name>[A-Za-z0-9_\[](?:[A-Za-z0-9_.\[\],-]|(?<=\d)/(?=\d))*))"
    r"(?::(?P<port>\d{1,5}))?"
)
_RANGE = re.compile(r"(\d{1,15})-(\d+)")


def _expand(word: str, where: str) -> list[Host]:
    match = _WORD.fullmatch(f"[{word}]" if _is_bare_v6(word) else word)
    port = int(match["port"] or 0) if match else 0
    if match is None or port > 65535 or (match["port"] and not port):
        raise BadInput(f"{where}: {word[:60]!r} is not a host", "a host is name, user@name, name:port or n[01-04]")
    user = match["user"] or ""
    if match["v6"]:
        return [Host(match["v6"], user, port)]
    return [Host(name, user, port) for name in _names(match["name"], word, where)]


def _is_bare_v6(word: str) -> bool:
    return word.count(":") > 1 and "[" not in word and "@" not in word


def _names(nodes: str, word: str, where: str) -> list[str]:
    if any(int(last[:16]) - int(first) >= MOST for first, last in _RANGE.findall(nodes)):
        raise BadInput(f"{where}: {word[:60]!r} is more than {MOST} hosts", "is the bracket too wide?")
    from ClusterShell.NodeSet import NodeSet, NodeSetParseError

    try:
        named = NodeSet(nodes)
    except NodeSetParseError as error:
        raise BadInput(f"{where}: {word[:60]!r} is not a set of hosts: {error}", "for example n[01-04]") from error
    if len(named) > MOST:
        raise BadInput(f"{where}: {word[:60]!r} is more than {MOST} hosts", "are the brackets too wide?")
    names = [str(node) for node in named]
    if any("/" in name or len(name) > _LONGEST_NAME for name in names):
        raise BadInput(f"{where}: {word[:60]!r} is not a host", f"a name has {_LONGEST_NAME} characters at most")
    return names


def launch(hosts: Sequence[Host], program: Sequence[str], remote_python: str, why: str) -> Launch:
    """An ssh (`program`: its words) for each host; node rank = place in the list."""
    remote = " ".join([shlex.quote(remote_python), *WORKER])
    counts = Counter(host.name for host in hosts)
    commands = tuple(
        Command(
            argv=(*program, *_OPTIONS, *_target(host), remote),
            nodes=(number,),
            host=host.name if counts[host.name] == 1 else f"{host.name}:{host.port or 22}",
        )
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
    kind: FindingKind
    what: str
    remedy: str


_UNKNOWN = "Could not resolve hostname"
_OF_CONNECT = r"^(?:ssh: connect to (?:host|address) .*|channel \d+: open failed: connect failed): "
"""How ssh begins what it says of a connection that was not made, also of one through a jump host. What ranks print
is on the same stream, and tells of refused connections as soon as one of them has died."""
_CAUSES = (
    _Cause(_UNKNOWN, finding_kinds.HOST_UNKNOWN, "its name is not known here", "see /etc/hosts and DNS"),
    _Cause(
        "^Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED",
        finding_kinds.HOST_REFUSED,
        "its host key is not one that is known here",
        "log in once with ssh and look at the key, or distribute the cluster's known_hosts",
    ),
    _Cause(
        r"^(?:\S+: )?Permission denied \(|Too many authentication failures",
        finding_kinds.HOST_REFUSED,
        "it does not let this user in without a password",
        "set up a key: ssh-copy-id, or an agent; user@host names another user",
    ),
    _Cause(
        _OF_CONNECT + "Connection refused",
        finding_kinds.HOST_REFUSED,
        "no sshd answers on this port",
        "start sshd there, or name its port: host:2222",
    ),
    _Cause(
        _OF_CONNECT + "|^Connection timed out during banner exchange|^Connection to .* timed out",
        finding_kinds.HOST_UNREACHABLE,
        "it does not answer",
        "is it up? ping it; look at its network and at firewalls",
    ),
    _Cause(
        "^(?:kex|ssh)_exchange_identification: |^Connection (?:closed|reset) by .* port ",
        finding_kinds.HOST_REFUSED,
        "its sshd ends the connection before the login",
        "look at its log and load; MaxStartups of sshd limits logins at one time",
    ),
    _Cause(
        "^Timeout, server .* not responding|^Connection to .* closed by remote host|^client_loop: send disconnect"
        "|^Read from remote host |^(?:packet_write_wait|ssh_dispatch_run_fatal): |^Received disconnect from ",
        finding_kinds.HOST_LOST,
        "the connection to it was lost",
        "did it go down? look at its console and uptime",
    ),
    _Cause(
        "No module named '?(?:nccltool|torch|msgspec|numpy)",
        finding_kinds.HOST_MISCONFIGURED,
        "its Python lacks a package",
        "install nccltool there, or name the right one: --remote-python /path/to/venv/bin/python",
    ),
)
_UNHEARD = _Cause(
    "^nothing was heard of the runner for ",
    finding_kinds.HOST_LOST,
    "it did not hear of this command for so long that it ended its part",
    "was this command stopped (Ctrl-Z), or its host too busy? else look at the network between the two",
)
"""What a node process says: see worker/node/remote.py."""
_KILLED = _Cause(
    "",
    finding_kinds.HOST_LOST,
    "ssh to it ended without a reason: the node process there was killed, or ssh itself was",
    "on that host: dmesg | grep -i -E 'out of memory|killed process'",
)
_ENDED_HERE = _Cause(
    "",
    finding_kinds.HOST_LOST,
    "the ssh to it was killed on this host",
    "on this host: dmesg | grep -i -E 'out of memory|killed process'; who else ends processes here?",
)
_NO_PYTHON = _Cause(
    "",
    finding_kinds.HOST_MISCONFIGURED,
    "it has no such Python",
    "name the one to use there: --remote-python /path/to/venv/bin/python",
)
_CANNOT_RUN = (126, 127)
"""Exit codes of a shell that cannot start a program."""


def explain(host: str, exit_code: int, lines: Sequence[str]) -> Finding | None:
    """Why an ssh ended before its node was done, from its exit code and what it and the far end said."""
    text = "\n".join(lines)
    ssh_failed = exit_code == FAILED
    cause = next((c for c in _CAUSES if re.search(c.pattern, text, re.MULTILINE) and _fits(c, ssh_failed)), None)
    if cause is None and exit_code in _CANNOT_RUN:
        cause = _NO_PYTHON
    if cause is None and ssh_failed:
        cause = _KILLED
    if cause is None and re.search(_UNHEARD.pattern, text, re.MULTILINE):
        cause = _UNHEARD
    if cause is None and exit_code < 0:
        cause = _ENDED_HERE
    if cause is None:
        return None
    what = "was lost" if cause.kind is finding_kinds.HOST_LOST else "cannot be used"
    return cause.kind.finding(
        subject=Subject(kind="host", name=host),
        message=f"{host} {what}: {cause.what}",
        evidence=tuple(line.strip()[:300] for line in lines if line.strip())[-4:],
        remedy=cause.remedy,
    )


def _fits(cause: _Cause, ssh_failed: bool) -> bool:
    """The far end's complaints count when the far end ended, ssh's own when ssh did."""
    return (cause.kind is finding_kinds.HOST_MISCONFIGURED) != ssh_failed
