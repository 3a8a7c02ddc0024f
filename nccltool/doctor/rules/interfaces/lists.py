"""NCCL_SOCKET_IFNAME as it is written: names, operators, prefixes."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, NotKnown, Results, Unknown, across, escaped, listed, rule
from nccltool.doctor.rules.interfaces.base import IFNAME, given_list, is_loopback, known_names, present
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.settings import Variable


def _words(variable: Variable) -> list[str]:
    """The entries of the list as they are written."""
    return list(values.split(variable.value.removeprefix("^").removeprefix("=")))


@rule("NETIF001", "error", needs=("network",))
def no_such_interface(host: JudgedHost) -> Results:
    """NCCL_SOCKET_IFNAME fits no interface of this host.

    Why: Bootstrap needs an IP interface, also when RDMA carries the data: NCCL stops with "no socket interface
    found". Names differ between hosts, and inside containers.
    Example: NCCL_SOCKET_IFNAME=eth0 on a host whose interface is ens3f0
    Instead: NCCL_SOCKET_IFNAME=ens3f0
    Source: https://github.com/NVIDIA/nccl/issues/1837; NCCL src/bootstrap.cc
    """
    given = given_list(host)
    if given and given[1].entries and not any(given[1].chooses(name) for name in known_names(host)):
        yield report.better_unset(
            given[0],
            "no interface of this host fits: initialization fails",
            "write the name of an interface of this host, or unset NCCL_SOCKET_IFNAME",
            evidence=present(host),
        )


@rule("NETIF006", "error", needs=("network",))
def exclusion_too_small(host: JudgedHost) -> Results:
    """NCCL_SOCKET_IFNAME excludes some interfaces, and with that lets lo or docker0 in.

    Why: A list of one's own switches the built-in exclusion off: ^docker0 alone selects lo, which comes first.
    Example: NCCL_SOCKET_IFNAME=^docker0
    Instead: NCCL_SOCKET_IFNAME=^docker,lo,virbr,veth
    Source: https://github.com/horovod/horovod/pull/700; NCCL user guide, NCCL_SOCKET_IFNAME
    """
    given = given_list(host)
    if not given or not given[1].exclude or not given[1].entries:
        return
    choice = host.interfaces
    wrong = [one for one in choice.chosen if one.name.startswith(("docker", "virbr")) or is_loopback(host, one)]
    if wrong:
        first = wrong[0] == choice.chosen[0]
        yield report.about(
            given[0],
            f"the list lets {listed(one.name for one in wrong)} in" + (", for bootstrap too" if first else ""),
            "exclude docker, lo, virbr and veth, or name the interface",
            evidence=tuple(f"{escaped(one.name)} {one.address}" for one in choice.chosen[:8]),
            severity=host.if_several_nodes("error" if first else "warning", "info"),
            fix=report.export(IFNAME, "^docker,lo,virbr,veth"),
            part="",
        )


@rule("NETIF007", "error")
def broken_interface_list(host: JudgedHost) -> Results:
    """NCCL_SOCKET_IFNAME has ^ or = where they are no operators, or no name at all.

    Why: They count at the beginning only, ^ first, and hold for the whole list; elsewhere they become part of a
    name. A list without names excludes everything, or nothing.
    Example: NCCL_SOCKET_IFNAME=^lo,^docker
    Instead: NCCL_SOCKET_IFNAME=^lo,docker
    Source: NCCL src/misc/socket.cc, src/misc/utils.cc (parseStringList)
    """
    given = given_list(host)
    if not given:
        return
    variable, wanted = given
    words = [word for word in _words(variable) if word.startswith(("^", "="))]
    for word in words:
        yield report.about(
            variable,
            f"{word[0]} does not begin the list here: it becomes part of a name",
            "write ^=a,b or =a,b: the operators once, at the beginning",
            fix=_repaired(variable),
            part=word,
        )
    if not wanted.entries and not words and variable.value.strip():
        what = "everything: initialization fails" if wanted.exclude else "nothing: every interface fits, also lo"
        yield report.better_unset(
            variable,
            f"the list has no name, and excludes {what}",
            "name interfaces, or unset NCCL_SOCKET_IFNAME",
            part="",
        )


def _repaired(variable: Variable) -> tuple[report.Fix, ...]:
    """The same list with its operators at the beginning."""
    exclude = "^" if "^" in variable.value else ""
    exact = "=" if "=" in variable.value else ""
    names = [name for word in _words(variable) if (name := word.lstrip("^="))]
    return report.export(variable.name, f"{exclude}{exact}{','.join(names)}") if names else report.unset(variable)


@rule("NETIF008", "error", needs=("network",))
def address_instead_of_interface(host: JudgedHost) -> Results:
    """NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME has an address where the name of an interface must be.

    Why: Names are compared with it; no interface is called 10.0.0.5.
    Example: NCCL_SOCKET_IFNAME=10.0.0.5
    Instead: NCCL_SOCKET_IFNAME=eth0
    Source: NCCL user guide, NCCL_SOCKET_IFNAME
    """
    for name in (IFNAME, "GLOO_SOCKET_IFNAME"):
        variable = host.variable(name)
        for word in _words(variable) if variable else ():
            found = _network_of(word)
            if variable and found:
                owners = _owners(host, found)
                yield report.about(
                    variable,
                    f"{escaped(word[:60])} is an address, and a name is expected",
                    f"write {' or '.join(owners)}" if owners else "write the name of its interface",
                    fix=report.export(name, ",".join(owners)) if owners else (),
                    part=word,
                )


def _network_of(word: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(word, strict=False)
    except ValueError:
        return None


def _owners(host: JudgedHost, wanted: ipaddress.IPv4Network | ipaddress.IPv6Network) -> list[str]:
    """The interfaces with an address in this network; with a name that can be pasted."""
    addresses = or_none(host.facts.network.addresses) or ()
    own = (one for one in addresses if ipaddress.ip_address(one.address) in wanted)
    return [name for name in dict.fromkeys(one.interface for one in own) if re.fullmatch(r"[\w.:-]+", name)]


@rule("NETIF009", "warning")
def one_letter_interface(host: JudgedHost) -> Results:
    """NCCL_SOCKET_IFNAME has one character.

    Why: NCCL ignores values of one character, and chooses by itself.
    Example: NCCL_SOCKET_IFNAME=e
    Instead: NCCL_SOCKET_IFNAME=eth
    Source: NCCL src/misc/socket.cc (ncclFindInterfaces)
    """
    variable = host.variable(IFNAME)
    if variable and len(variable.value) == 1:
        yield report.better_unset(
            variable,
            "NCCL ignores a value of one character, and chooses an interface by itself",
            "write a longer prefix",
        )


@rule("NETIF010", "warning", needs=("network",))
def ambiguous_interface_prefix(host: JudgedHost) -> Results:
    """An entry of NCCL_SOCKET_IFNAME is the name of an interface, and the beginning of others.

    Why: Without = an entry fits every name that begins with it, and NCCL takes all of them: eth1 also means eth10
    and the VLAN eth1.100.
    Example: NCCL_SOCKET_IFNAME=eth1 on a host with eth10
    Instead: NCCL_SOCKET_IFNAME==eth1
    Source: NCCL user guide, NCCL_SOCKET_IFNAME
    """
    given = given_list(host)
    if not given or given[1].exact:
        return
    names, entries = known_names(host), [entry.name for entry in given[1].entries]
    for word in dict.fromkeys(entry for entry in entries if entry in names):
        # an alias like eth1:1 is the same interface
        others = [name for name in names if name.startswith(word) and name.partition(":")[0] not in entries]
        if others:
            yield report.about(
                given[0],
                f"{escaped(word)} also fits {listed(others)}",
                "begin the list with =, so that names must be equal",
                fix=_exact(given[0]) if set(entries) <= set(names) else (),
                part=word,
            )


def _exact(variable: Variable) -> tuple[report.Fix, ...]:
    exclude, names = variable.value.startswith("^"), variable.value.removeprefix("^")
    return report.export(variable.name, f"{'^' if exclude else ''}={names}")


@across("NETIF021", "error", needs=("network",))
def interface_on_some_nodes(hosts: Sequence[JudgedHost]) -> Results:
    """NCCL_SOCKET_IFNAME fits an interface on some hosts, and none on others.

    Why: Initialization fails on the others, and all ranks wait for them.
    Example: NCCL_SOCKET_IFNAME=eth0 where some hosts call it ens3
    Instead: a prefix that all hosts share, or another value for each kind of host
    Source: NCCL user guide, troubleshooting of networks
    """
    fits: dict[bool, list[JudgedHost]] = {True: [], False: []}
    for host in hosts:
        try:
            given = given_list(host)
            if given and given[1].entries:
                fits[any(given[1].chooses(name) for name in known_names(host))].append(host)
        except NotKnown as why:
            yield Unknown(f"{host.facts.host}: {why}")
    if fits[True] and fits[False]:
        variable = fits[False][0].variable(IFNAME)
        assert variable is not None
        yield report.about(
            variable,
            f"fits no interface on {len(fits[False])} of {len(hosts)} hosts",
            "use a prefix that all hosts share, or set it for each kind of host",
            evidence=(
                f"none on: {listed(_hosts(fits[False]))}",
                f"interfaces of {escaped(fits[False][0].facts.host)}: {listed(known_names(fits[False][0]))}",
            ),
            part="",
        )


def _hosts(hosts: Iterable[JudgedHost]) -> Iterator[str]:
    return (host.facts.host for host in hosts)
