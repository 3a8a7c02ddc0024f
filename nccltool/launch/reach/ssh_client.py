"""Hosts that are reached by ssh: one ssh a host, whose far end is a node process that speaks over its pipes.

ssh's own configuration, keys and known hosts are respected; nothing is asked (BatchMode). Only the Python to use
is in the remote command: the job and its variables cross on standard input, so there is nothing to quote.
"""

import re
import shlex
import shutil
from collections import Counter
from collections.abc import Sequence

from nccltool.core.errors import BadInput
from nccltool.core.findings import Finding, Subject
from nccltool.launch import finding_kinds
from nccltool.launch.launchers.base import (
    WORKER,
    Command,
    EndCause,
    NodeCommands,
    last_said,
)
from nccltool.launch.named_hosts import Host
from nccltool.launch.options import StartOptions
from nccltool.launch.reach import far_ends

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


def launch(hosts: Sequence[Host], program: Sequence[str], remote_python: str, why: str) -> NodeCommands:
    """An ssh (`program`: its words) for each host; node rank = place in the list."""
    remote = " ".join([shlex.quote(remote_python), *WORKER])
    counts = Counter(host.name for host in hosts)
    commands = tuple(
        Command(
            argv=argv(host, program, remote),
            nodes=(number,),
            host=host.name if counts[host.name] == 1 else f"{host.name}:{host.port or 22}",
        )
        for number, host in enumerate(hosts)
    )
    return NodeCommands(
        launcher="ssh", why=why, commands=commands, remote=True, explain=explain, is_broken=is_broken
    )


def argv(host: Host, program: Sequence[str], remote: str) -> tuple[str, ...]:
    """The ssh (`program`: its words) that runs a command, quoted for the shell there, on a host."""
    return (*program, *_OPTIONS, *_target(host), remote)


def program(options: StartOptions) -> tuple[str, ...]:
    """The words of --ssh, whose first is a program that exists. Raises BadInput."""
    found = words(options.ssh)
    if shutil.which(found[0]) is None:
        raise BadInput(f"--ssh {found[0]!r}: command not found", "install an ssh client or name one that exists")
    return found


def words(text: str) -> tuple[str, ...]:
    """Those of --ssh. Raises BadInput."""
    remedy = "for example --ssh 'ssh -F ./ssh_config'"
    try:
        found = tuple(shlex.split(text))
    except ValueError as error:
        raise BadInput(f"--ssh {text[:60]!r}: {error}", remedy) from error
    if not found:
        raise BadInput("--ssh is empty", remedy)
    return found


def _target(host: Host) -> tuple[str, ...]:
    port = (f"-p{host.port}",) if host.port else ()
    user = ("-l", host.user) if host.user else ()
    return (*port, *user, "--", host.name)


_UNKNOWN = "Could not resolve hostname"
_OF_CONNECT = r"^(?:ssh: connect to (?:host|address) .*|channel \d+: open failed: connect failed): "
"""How ssh begins what it says of a connection that was not made, also of one through a jump host. What ranks print
is on the same stream, and tells of refused connections as soon as one of them has died."""
_BROKEN = EndCause(
    "^Timeout, server .* not responding|^Connection to .* closed by remote host|^client_loop: send disconnect"
    "|^Read from remote host |^(?:packet_write_wait|ssh_dispatch_run_fatal): |^Received disconnect from ",
    finding_kinds.HOST_LOST,
    "the connection to it broke",
    "check its console and uptime to see whether it went down",
)
_CAUSES = (
    EndCause(_UNKNOWN, finding_kinds.HOST_UNKNOWN, "its name does not resolve here", "check /etc/hosts and DNS"),
    EndCause(
        "^Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED",
        finding_kinds.HOST_REFUSED,
        "its host key matches no key known here",
        "log in once with ssh and verify the key, or distribute the cluster's known_hosts",
    ),
    EndCause(
        r"^(?:\S+: )?Permission denied \(|Too many authentication failures",
        finding_kinds.HOST_REFUSED,
        "it refuses passwordless login for this user",
        "set up a key with ssh-copy-id or an agent; to log in as a different user, write user@host",
    ),
    EndCause(
        _OF_CONNECT + "Connection refused",
        finding_kinds.HOST_REFUSED,
        "no sshd answers on this port",
        "start sshd there or name its port: host:2222",
    ),
    EndCause(
        _OF_CONNECT + "|^Connection timed out during banner exchange|^Connection to .* timed out",
        finding_kinds.HOST_UNREACHABLE,
        "it does not answer",
        "ping it to check that it is up; check its network and firewalls",
    ),
    EndCause(
        "^(?:kex|ssh)_exchange_identification: |^Connection (?:closed|reset) by .* port ",
        finding_kinds.HOST_REFUSED,
        "its sshd closes the connection before login",
        "check the log of sshd and the load of the host; MaxStartups in sshd_config limits concurrent logins",
    ),
    _BROKEN,
    far_ends.PACKAGE_MISSING,
)
_KILLED = EndCause(
    "",
    finding_kinds.HOST_LOST,
    "its ssh session ended without a reason: the node process there or ssh itself was killed",
    "run on that host: dmesg | grep -i -E 'out of memory|killed process'",
)
_ENDED_HERE = EndCause(
    "",
    finding_kinds.HOST_LOST,
    "its ssh process was killed on this host",
    "run on this host: dmesg | grep -i -E 'out of memory|killed process'; "
    "check whether something else kills processes here",
)


def is_broken(exit_code: int, lines: Sequence[str]) -> bool:
    """Whether ssh ended because of its connection, which tells nothing of which end's fault that is."""
    return _cause(exit_code, lines) is _BROKEN


def explain(host: str, exit_code: int, lines: Sequence[str]) -> Finding | None:
    """Why an ssh ended before its node was done, from its exit code and what it and the far end said."""
    cause = _cause(exit_code, lines)
    if cause is None:
        return None
    what = "was lost" if cause.kind is finding_kinds.HOST_LOST else "cannot be used"
    return cause.kind.finding(
        subject=Subject(kind="host", name=host),
        message=f"{host} {what}: {cause.what}",
        evidence=last_said(lines),
        remedy=cause.remedy,
    )


def _cause(exit_code: int, lines: Sequence[str]) -> EndCause | None:
    text = "\n".join(lines)
    ssh_failed = exit_code == FAILED
    candidates: tuple[EndCause, ...] = (
        # the far end's complaints count when the far end ended, ssh's own when ssh did
        *(one for one in _CAUSES if (one.kind is finding_kinds.HOST_MISCONFIGURED) != ssh_failed),
        *((far_ends.NO_PYTHON,) if exit_code in far_ends.CANNOT_RUN else ()),
        *((_KILLED,) if ssh_failed else ()),
        far_ends.UNHEARD,
        *((_ENDED_HERE,) if exit_code < 0 else ()),
    )
    return next((one for one in candidates if re.search(one.pattern, text, re.MULTILINE)), None)
