"""NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME as they are written: names, operators, prefixes."""

import ipaddress
import re
from collections.abc import Sequence

from nccltool.core.findings import Severity
from nccltool.core.text import escaped
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, across, for_names, for_text, listed, rule
from nccltool.doctor.rules.interfaces.base import (
    IFNAME,
    chosen_lines,
    is_loopback,
    known_names,
    present,
)
from nccltool.hosts.facts import NotKnown, known, or_none
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.interfaces import is_inside
from nccltool.hosts.nccl.values import NameList

_GLOO, _RPC = "GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"
_PLACEHOLDERS = (
    *("auto", "all", "any", "none", "null", "default", "undefined", "xxx", "localhost", "hostname", "interface"),
    *("iface", "ethernet", "wifi", "true", "false"),
)
"""What people write for an interface to be chosen or filled in; none has such a name."""
_LONGEST_NAME = 15
_ADAPTER = re.compile(r"mlx[45]_|rocep\d|rdmap\d|ibp\d+s\d+(f\d+)?$|bnxt_re|irdma\d")
"""RDMA devices, as their drivers and rdma-core name them."""


@for_names("NETIF001", "error", IFNAME, needs=("network",))
def no_such_interface(host: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """NCCL_SOCKET_IFNAME matches no interface of this host.

    Why: Bootstrap needs an IP interface even when RDMA carries the data: NCCL stops with "no socket interface
    found". Names differ between hosts and inside containers.
    Example: NCCL_SOCKET_IFNAME=eth0 on a host whose interface is ens3f0
    Instead: NCCL_SOCKET_IFNAME=ens3f0
    Source: https://github.com/NVIDIA/nccl/issues/1837; NCCL src/bootstrap.cc
    """
    if wanted.entries and not any(wanted.chooses(name) for name in known_names(host)):
        message = "no interface of this host matches: initialization fails"
        remedy = "set NCCL_SOCKET_IFNAME to an interface of this host or unset it"
        yield report.better_unset(variable, message, remedy, evidence=present(host))


@for_names("NETIF006", "error", IFNAME, needs=("network",))
def exclusion_too_small(host: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """An exclusion list in NCCL_SOCKET_IFNAME still allows lo or docker0.

    Why: A custom list replaces the built-in exclusions: with only ^docker0, NCCL selects lo, which comes first.
    Example: NCCL_SOCKET_IFNAME=^docker0
    Instead: NCCL_SOCKET_IFNAME=^docker,lo,virbr,veth
    Source: https://github.com/horovod/horovod/pull/700; NCCL user guide, NCCL_SOCKET_IFNAME
    """
    if not wanted.exclude or not wanted.entries:
        return
    if isinstance(host.facts.network.interfaces, Unknown) and not wanted.matches("lo"):
        yield report.better_set(
            variable,
            f"{variable.value},lo",
            "the list still allows lo, which comes first: other nodes cannot connect to it",
            part="",
            severity=host.if_several_nodes(),
        )
    chosen = host.interfaces.chosen
    wrong = [one for one in chosen if one.name.startswith(("docker", "virbr")) or is_loopback(host, one)]
    if wrong:
        first = wrong[0] == chosen[0]
        yield report.better_set(
            variable,
            "^docker,lo,virbr,veth",
            f"the list still allows {listed(one.name for one in wrong)}"
            + (", even for bootstrap" if first else ""),
            "export NCCL_SOCKET_IFNAME=^docker,lo,virbr,veth, or name the interface",
            evidence=chosen_lines(host.interfaces),
            severity=host.if_several_nodes("error" if first else "warning"),
            part="",
        )


@for_names("NETIF007", "warning", IFNAME)
def broken_interface_list(_: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """NCCL_SOCKET_IFNAME has ^ or = in the wrong place or names no interface.

    Why: ^ and = are operators only at the beginning of the value (^ first) and apply to the whole list; elsewhere
    they become part of a name. A list without names excludes everything or nothing.
    Example: NCCL_SOCKET_IFNAME=^lo,^docker
    Instead: NCCL_SOCKET_IFNAME=^lo,docker
    Source: NCCL src/misc/socket.cc, src/misc/utils.cc (parseStringList)
    """
    words = [word for word in _words(variable) if word.startswith(("^", "="))]
    for word in words:
        message = f"{word[0]} is not at the beginning of the list: it becomes part of a name"
        remedy = "write the operators once, at the beginning: ^=a,b or =a,b"
        # a name that no interface has: alone, it leaves none
        severity: Severity | None = "error" if not wanted.exclude and len(words) == len(_words(variable)) else None
        yield report.about(variable, message, remedy, part=word, fix=_repaired(variable), severity=severity)
    if not wanted.entries and not words and variable.value.strip():
        what = (
            "everything: initialization fails" if wanted.exclude else "nothing: every interface matches, even lo"
        )
        message = f"the list has no names and excludes {what}"
        remedy = "add interface names or unset NCCL_SOCKET_IFNAME"
        severity = "error" if wanted.exclude else None
        yield report.better_unset(variable, message, remedy, part="", severity=severity)


def _words(variable: Variable) -> list[str]:
    """The entries of the list as they are written."""
    return list(values.split(variable.value.removeprefix("^").removeprefix("=")))


def _repaired(variable: Variable) -> tuple[report.Fix, ...]:
    """The same list with its operators at the beginning."""
    operators = "".join(operator for operator in "^=" if operator in variable.value)
    names = [name for word in _words(variable) if (name := word.lstrip("^="))]
    return report.export(variable.name, operators + ",".join(names)) if names else report.unset(variable)


@for_text("NETIF008", "error", IFNAME, _GLOO, needs=("network",))
def address_instead_of_interface(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME contains an address instead of an interface name.

    Why: NCCL compares the value with interface names, and no interface is named 10.0.0.5.
    Example: NCCL_SOCKET_IFNAME=10.0.0.5
    Instead: NCCL_SOCKET_IFNAME=eth0
    Source: NCCL user guide, NCCL_SOCKET_IFNAME
    """
    for word in _words(variable):
        try:
            wanted = ipaddress.ip_network(word, strict=False)
        except ValueError:
            continue
        owners = _owners(host, wanted)
        message = f"{escaped(word[:60])} is an address; expected an interface name"
        remedy = f"use {' or '.join(owners)}" if owners else "use the name of its interface"
        fix = report.export(variable.name, ",".join(owners)) if owners else ()
        others = variable.name == IFNAME and (len(_words(variable)) > 1 or variable.value.startswith("^"))
        severity: Severity | None = "warning" if others else None
        yield report.about(variable, message, remedy, part=word, fix=fix, severity=severity)


def _owners(host: JudgedHost, wanted: ipaddress.IPv4Network | ipaddress.IPv6Network) -> list[str]:
    """The interfaces with an address in this network; with a name that can be pasted."""
    addresses = or_none(host.facts.network.addresses) or ()
    own = (one for one in addresses if ipaddress.ip_address(one.address) in wanted)
    return [name for name in dict.fromkeys(one.interface for one in own) if re.fullmatch(r"[\w.:-]+", name)]


@for_text("NETIF036", "warning", IFNAME, _GLOO, _RPC, covers=())
def adapter_instead_of_interface(_: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_SOCKET_IFNAME, or Gloo's or TensorPipe's variable, contains an RDMA device instead of an interface.

    Why: All three compare the value with the names of interfaces; those of RDMA devices differ.
    Example: NCCL_SOCKET_IFNAME=mlx5_0
    Instead: NCCL_SOCKET_IFNAME=eth0, and NCCL_IB_HCA=mlx5_0
    Source: NCCL user guide, NCCL_SOCKET_IFNAME and NCCL_IB_HCA; rdma-core, rdma_rename
    """
    for name in (word for word in _words(variable) if not text.startswith("^") and _ADAPTER.match(word)):
        message = f"{escaped(name[:60])} is an RDMA device; expected an interface name"
        yield report.about(variable, message, "use the name of its interface, which `rdma link` shows", part=name)


@for_text("NETIF037", "warning", IFNAME, _GLOO, _RPC, covers=())
def impossible_interface_name(_: JudgedHost, variable: Variable, __: str) -> Results:
    """A list of interfaces contains a name that no interface can have.

    Why: Linux allows at most 15 characters, without a slash or a blank. NCCL and Gloo find nothing that matches.
    Example: NCCL_SOCKET_IFNAME=!lo
    Instead: NCCL_SOCKET_IFNAME=^lo
    Source: Linux, include/uapi/linux/if.h (IFNAMSIZ) and net/core/dev.c (dev_valid_name)
    """
    for word in _words(variable):
        name = word.partition(":")[0]
        if len(name) > _LONGEST_NAME or re.search(r"[/!<>{}\\]", name):
            why = "is longer than 15 characters" if len(name) > _LONGEST_NAME else "contains an odd character"
            message = f"no interface has this name: it {why}"
            yield report.about(variable, message, "compare with `ip -br link`", part=word)
        elif name.lower() in _PLACEHOLDERS:
            message = f"{name} has no special meaning: it is taken for the name of an interface"
            yield report.better_unset(variable, message, "name an interface, or unset it", part=word)


@for_text("NETIF009", "warning", IFNAME)
def one_letter_interface(_: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_SOCKET_IFNAME is a single character.

    Why: NCCL ignores single-character values and chooses an interface itself.
    Example: NCCL_SOCKET_IFNAME=e
    Instead: NCCL_SOCKET_IFNAME=eth
    Source: NCCL src/misc/socket.cc (ncclFindInterfaces)
    """
    if len(text) == 1:
        message = "NCCL ignores a single-character value and chooses an interface itself"
        yield report.better_unset(variable, message, "use a longer prefix")


@for_names("NETIF010", "warning", IFNAME, needs=("network",))
def ambiguous_interface_prefix(host: JudgedHost, variable: Variable, wanted: NameList) -> Results:
    """An entry in NCCL_SOCKET_IFNAME is the name of one interface and a prefix of others.

    Why: Without =, an entry matches every name that begins with it, and NCCL uses them all: eth1 also matches
    eth10 and the VLAN eth1.100.
    Example: NCCL_SOCKET_IFNAME=eth1 on a host with eth10
    Instead: NCCL_SOCKET_IFNAME==eth1
    Source: NCCL user guide, NCCL_SOCKET_IFNAME
    """
    if wanted.exact:
        return
    names, entries = known_names(host), [entry.name for entry in wanted.entries]
    exact = f"{'^' if wanted.exclude else ''}={variable.value.removeprefix('^')}"
    for word in dict.fromkeys(entry for entry in entries if entry in names):
        # an alias like eth1:1 is the same interface
        others = [name for name in names if name.startswith(word) and name.partition(":")[0] not in entries]
        if others:
            remedy = "begin the list with = to require exact names"
            fix = report.export(IFNAME, exact) if set(entries) <= set(names) else ()
            yield report.about(
                variable, f"{escaped(word)} also matches {listed(others)}", remedy, part=word, fix=fix
            )


@across("NETIF021", "error", needs=("network",))
def interface_on_some_nodes(hosts: Sequence[JudgedHost]) -> Results:
    """NCCL_SOCKET_IFNAME matches an interface on some hosts but not on others.

    Why: Initialization fails on hosts without a match, and all other ranks wait for them.
    Example: NCCL_SOCKET_IFNAME=eth0, but the interface is named ens3 on some hosts
    Instead: use a prefix that all hosts share or set a value for each type of host
    Source: NCCL user guide, troubleshooting, networking
    """
    fits: dict[bool, list[JudgedHost]] = {True: [], False: []}
    for host in hosts:
        try:
            wanted = host.settings.names(IFNAME)
            if wanted and wanted.entries:
                fits[any(wanted.chooses(name) for name in known_names(host))].append(host)
        except NotKnown as why:
            yield Unknown(f"{host.facts.host}: {why}")
    if fits[True] and fits[False]:
        first = fits[False][0]
        variable = first.variable(IFNAME)
        assert variable is not None
        yield report.about(
            variable,
            f"matches no interface on {len(fits[False])} of {len(hosts)} hosts",
            "use a prefix that all hosts share or set it for each type of host",
            evidence=(
                f"none on: {listed(host.facts.host for host in fits[False])}",
                f"interfaces of {escaped(first.facts.host)}: {listed(known_names(first))}",
            ),
            part="",
        )


@for_text("NETIF018", "error", _GLOO, _RPC, needs=("network",))
def gloo_list_like_nccl(host: JudgedHost, variable: Variable, text: str) -> Results:
    """GLOO_SOCKET_IFNAME or TP_SOCKET_IFNAME contains ^ or =, or a name that no interface has.

    Why: Gloo takes only a list of exact names, and TensorPipe one name: prefixes and exclusion are NCCL's.
    Example: GLOO_SOCKET_IFNAME=^docker,lo
    Instead: GLOO_SOCKET_IFNAME=eth0
    Source: pytorch torch/csrc/distributed/c10d/init.cpp; ProcessGroupGloo.cpp; rpc/tensorpipe_agent.cpp
    """
    words = text.split(",")
    wrong = [word for word in words if "^" in word or "=" in word]
    names = [] if wrong else [one.name for one in known(host.facts.network.interfaces)]
    why = "has an NCCL operator, which it does not support" if wrong else "is not an interface of this host"
    for word in wrong or [word for word in words if word not in names]:
        remedy = "list exact interface names, separated by commas"
        lines = (f"here: {escaped(', '.join(names[:12]))}",) if names else ()
        yield report.better_unset(variable, f"{word[:60]!r} {why}", remedy, part=word, evidence=lines)


@rule("NETIF019", "warning", needs=("names",))
def gloo_on_loopback(host: JudgedHost) -> Results:
    """Gloo would publish a loopback address, because the host's name resolves to one.

    Why: Without GLOO_SOCKET_IFNAME, Gloo binds to the address of the host's name, or to 127.0.0.1 if the name does
    not resolve. The other nodes then connect to themselves.
    Example: 127.0.1.1 node7 in /etc/hosts
    Instead: set GLOO_SOCKET_IFNAME=eth0 or map the host's name to its real address in /etc/hosts
    Source: pytorch torch/csrc/distributed/c10d/ProcessGroupGloo.cpp (createDefaultDevice)
    """
    if host.get(_GLOO) or not host.several_nodes:
        return
    addresses = known(host.facts.names.addresses)
    name = host.facts.names.hostname
    shown = "its own name" if isinstance(name, Unknown) else escaped(name)
    if not addresses or ipaddress.ip_address(addresses[0].partition("%")[0]).is_loopback:
        what = addresses[0] if addresses else "nothing"
        message = f"{shown} resolves to {what}: Gloo on other nodes cannot reach this one"
        remedy = "export GLOO_SOCKET_IFNAME=<interface> or map the name to its real address in /etc/hosts"
        lines = (f"{shown} -> {', '.join(addresses[:4]) or 'nothing'}",)
        yield report.host(host.facts.host, message, remedy, evidence=lines)


@for_text("NETIF035", "warning", _GLOO, _RPC, covers=())
def gloo_told_loopback(host: JudgedHost, variable: Variable, text: str) -> Results:
    """GLOO_SOCKET_IFNAME or TP_SOCKET_IFNAME names only interfaces inside the host, such as lo.

    Why: The other nodes are told an address that is their own, or that they cannot reach.
    Example: GLOO_SOCKET_IFNAME=lo
    Instead: GLOO_SOCKET_IFNAME=eth0
    Source: pytorch torch/csrc/distributed/c10d/ProcessGroupGloo.cpp (createDeviceForInterface)
    """
    if all(map(is_inside, text.split(","))) and host.nodes != 1:
        message = "only ranks of one node can connect over this interface"
        remedy = f"set {variable.name} to an interface that other nodes can reach"
        yield report.better_unset(variable, message, remedy)


@for_text("NETIF020", "info", _GLOO, needs=("network",))
def gloo_and_nccl_apart(host: JudgedHost, variable: Variable, text: str) -> Results:
    """GLOO_SOCKET_IFNAME and NCCL_SOCKET_IFNAME choose different interfaces.

    Why: Different interfaces are allowed, but one of the two settings is often a leftover.
    Example: GLOO_SOCKET_IFNAME=eth0 and NCCL_SOCKET_IFNAME=ens3
    Instead: set both to the same interface, unless the difference is intended
    Source: our own experience; torch and NCCL do not require the same interface
    """
    nccl = host.variable(IFNAME)
    if not nccl or len(nccl.value) < 2:
        return
    own = {name for name in text.split(",") if host.facts.network.interface(name)}
    chosen = {one.name for one in host.interfaces.chosen}
    if own and chosen and not own & chosen:
        message = f"Gloo uses {escaped(', '.join(sorted(own)[:4]))}, NCCL {escaped(', '.join(sorted(chosen)[:4]))}"
        lines = (f"{escaped(nccl.origin)}: {IFNAME}={escaped(nccl.value[:80])}",)
        yield report.about(
            variable,
            message,
            "set both to the same interface, unless the difference is intended",
            evidence=lines,
            part="",
        )
