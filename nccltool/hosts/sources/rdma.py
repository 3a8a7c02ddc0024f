"""RDMA devices and their ports: InfiniBand, RoCE, EFA."""

import re
from collections.abc import Iterator, Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Count, Flag, Gid, Number, Rdma, RdmaDevice, RdmaPort, Setting, Text, Texts
from nccltool.hosts.sources.base import Source, Tree

_IB = "/sys/class/infiniband"
_VERBS = "/sys/class/infiniband_verbs"
_ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"
_EFA_FIXED_GBPS = 100.0
_COUNTERS = (
    "counters/symbol_error", "counters/link_error_recovery", "counters/link_downed", "counters/port_rcv_errors",
    "counters/local_link_integrity_errors", "counters/excessive_buffer_overrun_errors",
    "counters/port_xmit_discards", "hw_counters/packet_seq_err", "hw_counters/local_ack_timeout_err",
    "hw_counters/out_of_sequence", "hw_counters/rnr_nak_retry_err", "hw_counters/roce_slow_restart",
)  # fmt: skip


def read(tree: Tree, env: Mapping[str, str]) -> Rdma:
    """The devices."""
    del env
    above = tree.names(_IB.rpartition("/")[0])
    if isinstance(above, Unknown):  # as in a container that hides /sys: not the same as having none
        return Rdma(devices=above)
    names = tree.names(_IB, absent=())
    if isinstance(names, Unknown):
        return Rdma(devices=names)
    uverbs = dict(_uverbs(tree))
    return Rdma(devices=tuple(_device(tree, name, uverbs) for name in names))


def _uverbs(tree: Tree) -> Iterator[tuple[str, str]]:
    """(device, its character device)."""
    names = tree.names(_VERBS, absent=())
    for name in () if isinstance(names, Unknown) else names:
        device = tree.text(f"{_VERBS}/{name}/ibdev")
        if isinstance(device, str):
            yield device, name


def _device(tree: Tree, name: str, uverbs: Mapping[str, str]) -> RdmaDevice:
    folder = f"{_IB}/{name}"
    numbers = tree.names(f"{folder}/ports")
    physical = tree.exists(f"{folder}/device/physfn")
    ports = (
        numbers
        if isinstance(numbers, Unknown)
        else tuple(_port(tree, folder, int(n)) for n in numbers if n.isdigit())
    )
    return RdmaDevice(
        name=name,
        ports=ports,
        node_type=tree.text(f"{folder}/node_type"),
        node_guid=tree.text(f"{folder}/node_guid"),
        sys_image_guid=tree.text(f"{folder}/sys_image_guid"),
        fw_ver=tree.text(f"{folder}/fw_ver"),
        board_id=tree.text(f"{folder}/board_id"),
        hca_type=tree.text(f"{folder}/hca_type"),
        driver=tree.link_name(f"{folder}/device/driver"),
        vendor=tree.text(f"{folder}/device/vendor"),
        device=tree.text(f"{folder}/device/device"),
        pci=_pci(tree, folder),
        numa_node=tree.number(f"{folder}/device/numa_node"),
        uverbs=uverbs.get(name) or Unknown(f"{_VERBS} names none for it"),
        virtual_function=physical,
        netdevs=_netdevs(tree, folder),
    )


def _pci(tree: Tree, folder: str) -> Text:
    name = tree.link_name(f"{folder}/device")
    if isinstance(name, str) and name.count(":") != 2:
        return Unknown(f"{name} is not a PCI device")
    return name


def _netdevs(tree: Tree, folder: str) -> Texts:
    there = tree.exists(f"{folder}/device")
    if there is not True:
        return there if isinstance(there, Unknown) else Unknown(f"{folder}/device does not exist")
    return tree.names(f"{folder}/device/net", absent=())


def _port(tree: Tree, device: str, number: int) -> RdmaPort:
    folder = f"{device}/ports/{number}"
    rate, width = _rate(tree.text(f"{folder}/rate"))
    if rate == _EFA_FIXED_GBPS and tree.link_name(f"{device}/device/driver") == "efa":
        rate = Unknown("an efa driver that is not recent says 100 Gb/s whatever the device is")
    slots = tree.names(f"{folder}/gids")
    return RdmaPort(
        number=number,
        state=_word(tree.text(f"{folder}/state")),
        phys_state=_word(tree.text(f"{folder}/phys_state")),
        link_layer=tree.text(f"{folder}/link_layer"),
        rate_gbps=rate,
        width=width,
        lid=_hex(tree, f"{folder}/lid"),
        sm_lid=_hex(tree, f"{folder}/sm_lid"),
        pkeys=_pkeys(tree, folder),
        gids=slots if isinstance(slots, Unknown) else tuple(_gids(tree, folder, slots)),
        gid_slots=slots if isinstance(slots, Unknown) else len(slots),
        traffic_class=tree.text(f"{device}/tc/{number}/traffic_class"),
        counters=_counters(tree, folder),
    )


def _word(text: Text) -> Text:
    """`4: ACTIVE` -> ACTIVE."""
    return text if isinstance(text, Unknown) else text.partition(":")[2].strip() or text


def _rate(text: Text) -> tuple[Number, Text]:
    """`400 Gb/sec (4X NDR)` -> 400.0, 4X."""
    if isinstance(text, Unknown):
        return text, text
    match = re.match(r"(\d+(?:\.\d+)?) Gb/sec(?: \((\d+X))?", text)
    if match is None:
        why = Unknown(f"its rate is {text[:60]!r}")
        return why, why
    return float(match[1]), match[2] or Unknown(f"its rate {text[:60]!r} names no width")


def _hex(tree: Tree, path: str) -> Count:
    return tree.number(path, 16)


def _pkeys(tree: Tree, folder: str) -> tuple[int, ...] | Unknown:
    names = tree.names(f"{folder}/pkeys")
    if isinstance(names, Unknown):
        return names
    keys = []
    for name in names:
        key = tree.number(f"{folder}/pkeys/{name}", 16)
        if isinstance(key, Unknown):
            return key
        keys.append(key)
    while keys and not keys[-1]:
        keys.pop()
    return tuple(keys)


def _gids(tree: Tree, folder: str, slots: tuple[str, ...]) -> Iterator[Gid]:
    """The slots that are used; the kernel answers EINVAL for the type of one that is not."""
    for slot in slots:
        gid = tree.text(f"{folder}/gids/{slot}")
        if isinstance(gid, Unknown) or gid == _ZERO or not slot.isdigit():
            continue
        yield Gid(
            index=int(slot),
            gid=gid,
            type=tree.text(f"{folder}/gid_attrs/types/{slot}"),
            netdev=tree.text(f"{folder}/gid_attrs/ndevs/{slot}"),
        )


def _counters(tree: Tree, folder: str) -> tuple[Setting, ...] | Unknown:
    there: Flag = tree.exists(f"{folder}/counters")
    also: Flag = tree.exists(f"{folder}/hw_counters")
    if there is not True and also is not True:
        return Unknown(f"{folder}/counters does not exist")
    found = [(name.partition("/")[2], tree.text(f"{folder}/{name}")) for name in _COUNTERS]
    return tuple(Setting(name=name, value=value) for name, value in found if isinstance(value, str))


SOURCES = (Source.quick("rdma", "rdma", read),)
