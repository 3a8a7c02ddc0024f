"""NCCL_SOCKET_IFNAME and the interfaces that it meets: which one NCCL takes, and whether others can reach it."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence

from nccltool.core.findings import Severity
from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, NotKnown, Results, across, escaped, known, listed, rule
from nccltool.hosts.facts import Flag, Interface, or_none
from nccltool.hosts.nccl import interfaces as nccl_interfaces
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.interfaces import ChosenInterface, InterfaceChoice
from nccltool.hosts.nccl.settings import Variable

_IFNAME, _FAMILY = "NCCL_SOCKET_IFNAME", "NCCL_SOCKET_FAMILY"
_OVERLAY = re.compile(
    r"docker|br-|virbr|veth|cni|flannel|cali|cilium|kube|lxc|podman|tailscale|wg|tun|tap|zt|nerdctl|vxlan"
)
"""Bridges, tunnels and ends of containers, by how their makers name them."""
_EVERY = 1 << 20


def _given(host: JudgedHost) -> tuple[Variable, values.NameList] | None:
    """NCCL_SOCKET_IFNAME, when NCCL obeys it: it ignores a value of one character."""
    variable, wanted = host.variable(_IFNAME), host.settings.names(_IFNAME)
    return (variable, wanted) if variable is not None and wanted is not None else None


def _words(variable: Variable) -> list[str]:
    """The entries of the list as they are written."""
    return list(values.split(variable.value.removeprefix("^").removeprefix("=")))


def _names(host: JudgedHost) -> tuple[str, ...]:
    """Every name that NCCL could compare with: interfaces, and labels of addresses like eth0:1."""
    network = host.facts.network
    labels = (address.interface for address in or_none(network.addresses) or ())
    return tuple(dict.fromkeys([*(one.name for one in known(network.interfaces)), *labels]))


def _interface(host: JudgedHost, name: str) -> Interface | None:
    return host.facts.network.interface(name.partition(":")[0])


def _is_loopback(host: JudgedHost, chosen: ChosenInterface) -> bool:
    interface = _interface(host, chosen.name)
    if interface is None:
        return ipaddress.ip_address(chosen.address).is_loopback
    return known(interface.loopback)


def _any(flags: Iterable[Flag]) -> bool:
    """Whether one of them is true. Raises NotKnown when none is, and one of them is not known."""
    listed = list(flags)
    return True in listed or any(known(flag) for flag in listed)


def _present(host: JudgedHost) -> tuple[str, ...]:
    """Evidence: the interfaces of this host, with their first address."""
    addresses = {one.interface: one.address for one in reversed(or_none(host.facts.network.addresses) or ())}
    shown = (f"{name} {addresses[name]}" if name in addresses else name for name in _names(host))
    return (f"here: {listed(shown)}",)


def _of_choice(
    host: JudgedHost, choice: InterfaceChoice, message: str, remedy: str, severity: Severity
) -> report.RuleFinding:
    """A finding about what was chosen: about the variable that chose it, else about the interface."""
    given = _given(host)
    evidence = tuple(f"{escaped(one.name)} {one.address}" for one in choice.chosen[:8])
    if given is not None:
        return report.about(given[0], message, evidence=evidence, remedy=remedy, severity=severity)
    return report.interface(
        choice.chosen[0].name,
        message,
        remedy=remedy,
        evidence=(*evidence, f"chosen because: {choice.why}"),
        severity=severity,
    )


@rule("NETIF001", "no-such-interface", "error", needs=("network",))
def no_such_interface(host: JudgedHost) -> Results:
    """NCCL_SOCKET_IFNAME fits no interface of this host.

    Why: Bootstrap needs an IP interface, also when RDMA carries the data: NCCL stops with "no socket interface
    found". Names differ between hosts, and inside containers.
    Example: NCCL_SOCKET_IFNAME=eth0 on a host whose interface is ens3f0
    Instead: NCCL_SOCKET_IFNAME=ens3f0
    Source: https://github.com/NVIDIA/nccl/issues/1837; NCCL src/bootstrap.cc
    """
    given = _given(host)
    if given and given[1].entries and not any(given[1].chooses(name) for name in _names(host)):
        yield report.better_unset(
            given[0],
            "no interface of this host fits: initialization fails",
            remedy="write the name of an interface of this host, or unset NCCL_SOCKET_IFNAME",
            evidence=_present(host),
        )


@rule("NETIF002", "interface-down", "error", needs=("network",))
def interface_down(host: JudgedHost) -> Results:
    """Every interface that NCCL_SOCKET_IFNAME fits is down.

    Why: NCCL looks at running interfaces only (since 2.28; before, it took one that nobody can reach).
    Example: NCCL_SOCKET_IFNAME=ens3f1, whose cable is not plugged in
    Instead: ip link set ens3f1 up, or another interface
    Source: NCCL src/os/linux.cc (ncclOsFindInterfaces)
    """
    given = _given(host)
    if not given or not given[1].entries:
        return
    fitting = [one for one in known(host.facts.network.interfaces) if given[1].chooses(one.name)]
    if fitting and not _any(one.running for one in fitting):
        yield report.about(
            given[0],
            f"{listed(one.name for one in fitting)}: not running",
            evidence=tuple(_state(one) for one in fitting[:8]),
            remedy=f"ip link set {escaped(fitting[0].name)} up; check the cable; or choose another interface",
        )


def _state(interface: Interface) -> str:
    carrier = or_none(interface.carrier)
    cable = "" if carrier is None else f", carrier {int(carrier)}"
    return f"{escaped(interface.name)}: operstate {escaped(or_none(interface.operstate) or 'unknown')}{cable}"


@rule("NETIF003", "interface-without-address", "error", needs=("network",))
def interface_without_address(host: JudgedHost) -> Results:
    """The interfaces that NCCL may take have no address (of the family in NCCL_SOCKET_FAMILY).

    Why: An interface without an address is passed over; none is left, and initialization fails.
    Example: NCCL_SOCKET_FAMILY=AF_INET6 on a host with IPv4 only
    Instead: unset NCCL_SOCKET_FAMILY, or give the interface an address
    Source: NCCL src/os/linux.cc (ncclOsFindInterfaces)
    """
    given, family = _given(host), host.variable(_FAMILY)
    variable = given[0] if given else family
    if variable is None or (given and not given[1].entries):
        return
    interfaces = [one for one in known(host.facts.network.interfaces) if not given or given[1].chooses(one.name)]
    if not interfaces or host.interfaces.chosen or not _any(one.running for one in interfaces):
        return
    kind = {"AF_INET": "IPv4 ", "AF_INET6": "IPv6 "}.get(family.value if family else "", "")
    yield report.about(
        variable,
        f"{listed(one.name for one in interfaces)}: no {kind}address that NCCL can use",
        evidence=_present(host),
        remedy="give the interface an address" + (f", or unset {_FAMILY}" if family else ""),
        fix=report.unset(family) if family else (),
    )


@rule("NETIF004", "loopback-between-nodes", "error", needs=("network",))
def loopback_between_nodes(host: JudgedHost) -> Results:
    """NCCL would use the loopback interface for a job of several nodes.

    Why: The other nodes are told to connect to 127.0.0.1, which is themselves.
    Example: NCCL_SOCKET_IFNAME=lo
    Instead: NCCL_SOCKET_IFNAME=eth0
    Source: NCCL user guide, NCCL_SOCKET_IFNAME
    """
    choice = host.interfaces
    if choice.chosen and all(_is_loopback(host, one) for one in choice.chosen) and host.several_nodes:
        yield _of_choice(
            host,
            choice,
            f"other nodes are told to connect to {choice.chosen[0].address}",
            "name an interface that other nodes can reach in NCCL_SOCKET_IFNAME",
            "error",
        )


@rule("NETIF005", "overlay-interface", "warning", needs=("network",))
def overlay_interface(host: JudgedHost) -> Results:
    """The interface for bootstrap is a bridge, a tunnel, or an end of a container.

    Why: It is up, and other nodes cannot reach it. By itself NCCL passes over docker*, lo and virbr* only.
    Example: br-3f1c0a, which comes before eth0
    Instead: NCCL_SOCKET_IFNAME=eth0
    Source: https://github.com/NVIDIA/nccl/issues/913; NCCL user guide, troubleshooting of networks
    """
    choice = host.interfaces
    if choice.bootstrap and _OVERLAY.match(choice.bootstrap.name):
        usual = host.if_several_nodes("error", "info")
        yield _of_choice(
            host,
            choice,
            f"NCCL takes {escaped(choice.bootstrap.name)} for bootstrap, which looks like a network of this host",
            "name the physical interface in NCCL_SOCKET_IFNAME",
            "info" if _is_all_there_is(host, choice.bootstrap.name) else usual,
        )


def _is_all_there_is(host: JudgedHost, name: str) -> bool:
    """Whether a pod has this interface alone: it may well be routed. A bridge for containers never is."""
    others = {one.interface for one in known(host.facts.network.addresses)} - {"lo", name}
    return not others and not name.startswith(("docker", "br-", "virbr"))


@rule("NETIF006", "exclusion-too-small", "error", needs=("network",))
def exclusion_too_small(host: JudgedHost) -> Results:
    """NCCL_SOCKET_IFNAME excludes some interfaces, and with that lets lo or docker0 in.

    Why: A list of one's own switches the built-in exclusion off: ^docker0 alone selects lo, which comes first.
    Example: NCCL_SOCKET_IFNAME=^docker0
    Instead: NCCL_SOCKET_IFNAME=^docker,lo,virbr,veth
    Source: https://github.com/horovod/horovod/pull/700; NCCL user guide, NCCL_SOCKET_IFNAME
    """
    given = _given(host)
    if not given or not given[1].exclude or not given[1].entries:
        return
    choice = host.interfaces
    wrong = [one for one in choice.chosen if one.name.startswith(("docker", "virbr")) or _is_loopback(host, one)]
    if wrong:
        first = wrong[0] == choice.chosen[0]
        yield report.about(
            given[0],
            f"the list lets {listed(one.name for one in wrong)} in" + (", for bootstrap too" if first else ""),
            evidence=tuple(f"{escaped(one.name)} {one.address}" for one in choice.chosen[:8]),
            remedy="exclude docker, lo, virbr and veth, or name the interface",
            severity=host.if_several_nodes("error" if first else "warning", "info"),
            fix=report.export(_IFNAME, "^docker,lo,virbr,veth"),
        )


@rule("NETIF007", "broken-interface-list", "error")
def broken_interface_list(host: JudgedHost) -> Results:
    """NCCL_SOCKET_IFNAME has ^ or = where they are no operators, or no name at all.

    Why: They count at the beginning only, ^ first, and hold for the whole list; elsewhere they become part of a
    name. A list without names excludes everything, or nothing.
    Example: NCCL_SOCKET_IFNAME=^lo,^docker
    Instead: NCCL_SOCKET_IFNAME=^lo,docker
    Source: NCCL src/misc/socket.cc, src/misc/utils.cc (parseStringList)
    """
    given = _given(host)
    if not given:
        return
    variable, wanted = given
    words = [word for word in _words(variable) if word.startswith(("^", "="))]
    for word in words:
        yield report.about(
            variable,
            f"{word[0]} does not begin the list here: it becomes part of a name",
            part=word,
            remedy="write ^=a,b or =a,b: the operators once, at the beginning",
            fix=_repaired(variable),
        )
    if not wanted.entries and not words and variable.value.strip():
        what = "everything: initialization fails" if wanted.exclude else "nothing: every interface fits, also lo"
        yield report.better_unset(
            variable,
            f"the list has no name, and excludes {what}",
            remedy="name interfaces, or unset NCCL_SOCKET_IFNAME",
            part="",
        )


def _repaired(variable: Variable) -> tuple[report.Fix, ...]:
    """The same list with its operators at the beginning."""
    exclude = "^" if "^" in variable.value else ""
    exact = "=" if "=" in variable.value else ""
    names = [name for word in _words(variable) if (name := word.lstrip("^="))]
    return report.export(variable.name, f"{exclude}{exact}{','.join(names)}") if names else report.unset(variable)


@rule("NETIF008", "address-instead-of-interface", "error", needs=("network",))
def address_instead_of_interface(host: JudgedHost) -> Results:
    """NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME has an address where the name of an interface must be.

    Why: Names are compared with it; no interface is called 10.0.0.5.
    Example: NCCL_SOCKET_IFNAME=10.0.0.5
    Instead: NCCL_SOCKET_IFNAME=eth0
    Source: NCCL user guide, NCCL_SOCKET_IFNAME
    """
    for name in (_IFNAME, "GLOO_SOCKET_IFNAME"):
        variable = host.variable(name)
        for word in _words(variable) if variable else ():
            found = _network_of(word)
            if variable and found:
                owners = _owners(host, found)
                yield report.about(
                    variable,
                    f"{escaped(word[:60])} is an address, and a name is expected",
                    part=word,
                    remedy=f"write {' or '.join(owners)}" if owners else "write the name of its interface",
                    fix=report.export(name, ",".join(owners)) if owners else (),
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


@rule("NETIF009", "one-letter-interface", "warning")
def one_letter_interface(host: JudgedHost) -> Results:
    """NCCL_SOCKET_IFNAME has one character.

    Why: NCCL ignores values of one character, and chooses by itself.
    Example: NCCL_SOCKET_IFNAME=e
    Instead: NCCL_SOCKET_IFNAME=eth
    Source: NCCL src/misc/socket.cc (ncclFindInterfaces)
    """
    variable = host.variable(_IFNAME)
    if variable and len(variable.value) == 1:
        yield report.better_unset(
            variable,
            "NCCL ignores a value of one character, and chooses an interface by itself",
            remedy="write a longer prefix",
        )


@rule("NETIF010", "ambiguous-interface-prefix", "warning", needs=("network",))
def ambiguous_interface_prefix(host: JudgedHost) -> Results:
    """An entry of NCCL_SOCKET_IFNAME is the name of an interface, and the beginning of others.

    Why: Without = an entry fits every name that begins with it, and NCCL takes all of them: eth1 also means eth10
    and the VLAN eth1.100.
    Example: NCCL_SOCKET_IFNAME=eth1 on a host with eth10
    Instead: NCCL_SOCKET_IFNAME==eth1
    Source: NCCL user guide, NCCL_SOCKET_IFNAME
    """
    given = _given(host)
    if not given or given[1].exact:
        return
    names, entries = _names(host), [entry.name for entry in given[1].entries]
    for word in dict.fromkeys(entry for entry in entries if entry in names):
        # an alias like eth1:1 is the same interface
        others = [name for name in names if name.startswith(word) and name.partition(":")[0] not in entries]
        if others:
            yield report.about(
                given[0],
                f"{escaped(word)} also fits {listed(others)}",
                part=word,
                remedy="begin the list with =, so that names must be equal",
                fix=_exact(given[0]) if set(entries) <= set(names) else (),
            )


def _exact(variable: Variable) -> tuple[report.Fix, ...]:
    exclude, names = variable.value.startswith("^"), variable.value.removeprefix("^")
    return report.export(variable.name, f"{'^' if exclude else ''}={names}")


@rule("NETIF011", "too-many-interfaces", "warning", needs=("network",))
def too_many_interfaces(host: JudgedHost) -> Results:
    """More than 16 interfaces fit NCCL_SOCKET_IFNAME, or the automatic choice.

    Why: NCCL keeps the first 16 that it meets, and does not tell about the others.
    Example: NCCL_SOCKET_IFNAME=eth on a host with 20 of them
    Instead: a list of names
    Source: NCCL src/include/net.h (MAX_IFS)
    """
    if len(known(host.facts.network.addresses)) <= nccl_interfaces.MOST:
        return
    choice = nccl_interfaces.choose(host.settings, host.facts.network, most=_EVERY)
    if len(choice.chosen) > nccl_interfaces.MOST:
        lost = choice.chosen[nccl_interfaces.MOST :]
        yield _of_choice(
            host,
            choice,
            f"{len(choice.chosen)} interfaces fit; NCCL drops {listed(one.name for one in lost)}",
            "name the interfaces that should be used in NCCL_SOCKET_IFNAME",
            "warning",
        )


@rule("NETIF012", "ambiguous-choice", "info", needs=("network",))
def ambiguous_choice(host: JudgedHost) -> Results:
    """NCCL_SOCKET_IFNAME is not set, and NCCL may take interfaces of different networks.

    Why: It takes them in the kernel's order, which differs between hosts: two nodes may choose interfaces that
    cannot talk to each other. The symptom is a hang while connecting.
    Example: eth0 10.0.0.5/24 and eth1 192.168.7.5/24
    Instead: NCCL_SOCKET_IFNAME=eth0
    Source: NCCL user guide, troubleshooting of networks
    """
    if _given(host) or not host.several_nodes:
        return
    choice = host.interfaces
    routed = [one for one in choice.chosen if not _is_loopback(host, one)]
    subnets = nccl_interfaces.subnets(host.facts.network, routed) if len(routed) > 1 else {}
    if len(set(subnets.values())) > 1:
        yield _of_choice(
            host,
            choice,
            f"NCCL may use {len(choice.chosen)} interfaces of {len(set(subnets.values()))} networks",
            "name the interface through which all nodes reach each other in NCCL_SOCKET_IFNAME",
            "info",
        )


@rule("NETIF013", "unroutable-ib-interface", "info", needs=("network",))
def unroutable_ib_interface(host: JudgedHost) -> Results:
    """An interface whose name begins with ib is taken, though the default route leads elsewhere.

    Why: The automatic choice puts ib* first, for bootstrap too. IP over InfiniBand is often not routed, or not
    configured on all nodes.
    Example: ib0 10.10.0.5/16, and the default route through eth0
    Instead: NCCL_SOCKET_IFNAME=eth0, if initialization hangs
    Source: NCCL user guide, NCCL_SOCKET_IFNAME
    """
    if _given(host) or not host.several_nodes:
        return
    choice = host.interfaces
    if not choice.bootstrap or not choice.bootstrap.name.startswith("ib"):
        return
    ways = {one.interface for one in known(host.facts.network.routes) if one.destination in ("0.0.0.0/0", "::/0")}
    if ways and choice.bootstrap.name.partition(":")[0] not in ways:
        yield _of_choice(
            host,
            choice,
            f"NCCL takes {escaped(choice.bootstrap.name)}; the default route is through {listed(sorted(ways))}",
            f"if initialization hangs: export NCCL_SOCKET_IFNAME={escaped(min(ways))}",
            "info",
        )


@rule("NETIF016", "invalid-address-family", "warning")
def invalid_address_family(host: JudgedHost) -> Results:
    """NCCL_SOCKET_FAMILY is neither AF_INET nor AF_INET6.

    Why: Every other text is ignored without a message.
    Example: NCCL_SOCKET_FAMILY=ipv4
    Instead: NCCL_SOCKET_FAMILY=AF_INET
    Source: NCCL src/misc/socket.cc (ncclEnvSocketFamily)
    """
    variable = host.variable(_FAMILY)
    if variable and variable.value and variable.value not in ("AF_INET", "AF_INET6"):
        yield report.better_unset(
            variable, "NCCL ignores this family", remedy="write AF_INET or AF_INET6, or unset it"
        )


@rule("NETIF017", "link-local-address", "error", needs=("network",))
def link_local_address(host: JudgedHost) -> Results:
    """NCCL_SOCKET_FAMILY=AF_INET6, and the address that NCCL takes is link-local.

    Why: NCCL takes the first address of an interface. Other nodes reach fe80:: addresses on their own segment
    only, and only if the interface has the same number there.
    Example: NCCL_SOCKET_FAMILY=AF_INET6, and no global IPv6 address
    Instead: unset NCCL_SOCKET_FAMILY, or a global address
    Source: NCCL src/os/linux.cc (ncclOsFindInterfaces)
    """
    family = host.variable(_FAMILY)
    if family is None or family.value != "AF_INET6":
        return
    first = host.interfaces.bootstrap
    if first and ipaddress.ip_address(first.address).is_link_local:
        yield report.better_unset(
            family,
            f"NCCL takes {first.address} of {escaped(first.name)}, which other networks cannot reach",
            remedy=f"give {escaped(first.name)} a global IPv6 address, or unset {_FAMILY}",
            part="",
            evidence=_present(host),
            severity=host.if_several_nodes("error", "info"),
        )


@across("NETIF021", "interface-on-some-nodes", "error", needs=("network",))
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
            given = _given(host)
            if given and given[1].entries:
                fits[any(given[1].chooses(name) for name in _names(host))].append(host)
        except NotKnown as why:
            yield Unknown(f"{host.facts.host}: {why}")
    if fits[True] and fits[False]:
        variable = fits[False][0].variable(_IFNAME)
        assert variable is not None
        yield report.about(
            variable,
            f"fits no interface on {len(fits[False])} of {len(hosts)} hosts",
            evidence=(
                f"none on: {listed(_hosts(fits[False]))}",
                f"interfaces of {escaped(fits[False][0].facts.host)}: {listed(_names(fits[False][0]))}",
            ),
            remedy="use a prefix that all hosts share, or set it for each kind of host",
        )


def _hosts(hosts: Iterable[JudgedHost]) -> Iterator[str]:
    return (host.facts.host for host in hosts)
