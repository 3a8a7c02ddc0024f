"""RDMA devices and their ports: InfiniBand, RoCE, EFA."""

import re
from collections.abc import Iterator, Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Gid, Rdma, RdmaDevice, RdmaPort, Setting, Text
from nccltool.hosts.facts.leaves import NotKnown, Number, known, or_none, or_unknown, then
from nccltool.hosts.sources.base import Source, Tree

_IB = "/sys/class/infiniband"
_VERBS = "/sys/class/infiniband_verbs"
_ZERO = "0000:0000:0000:0000:0000:0000:0000:0000"
_EFA_FIXED_GBPS = 100.0
"""The efa driver of older kernels names this rate for every device, whatever it is."""
_TEXTS = ("node_type", "node_guid", "sys_image_guid", "fw_ver", "board_id", "hca_type")
_COUNTERS = (
    "counters/symbol_error", "counters/link_error_recovery", "counters/link_downed", "counters/port_rcv_errors",
    "counters/local_link_integrity_errors", "counters/excessive_buffer_overrun_errors",
    "counters/port_xmit_discards", "hw_counters/packet_seq_err", "hw_counters/local_ack_timeout_err",
    "hw_counters/out_of_sequence", "hw_counters/rnr_nak_retry_err", "hw_counters/roce_slow_restart",
)  # fmt: skip


@or_unknown
def devices(tree: Tree) -> tuple[RdmaDevice, ...]:
    known(tree.names(_IB.rpartition("/")[0]))  # a container that hides /sys: not the same as having none
    names = known(tree.names(_IB, absent=()))
    uverbs = {tree.text(f"{_VERBS}/{name}/ibdev"): name for name in or_none(tree.names(_VERBS)) or ()}
    return tuple(_device(tree, name, uverbs) for name in names)


def _device(tree: Tree, name: str, uverbs: Mapping[Text, str]) -> RdmaDevice:
    folder = f"{_IB}/{name}"
    return RdmaDevice(
        name=name,
        ports=then(
            tree.names(f"{folder}/ports"),
            lambda names: tuple(_port(tree, folder, int(name)) for name in names if name.isdigit()),
        ),
        **{leaf: tree.text(f"{folder}/{leaf}") for leaf in _TEXTS},
        driver=tree.link_name(f"{folder}/device/driver"),
        vendor=tree.text(f"{folder}/device/vendor"),
        device=tree.text(f"{folder}/device/device"),
        pci=tree.pci_address(folder),
        numa_node=tree.number(f"{folder}/device/numa_node"),
        uverbs=uverbs.get(name) or Unknown(f"none in {_VERBS}"),
        virtual_function=tree.exists(f"{folder}/device/physfn"),
        netdevs=_netdevs(tree, f"{folder}/device"),
    )


@or_unknown
def _netdevs(tree: Tree, device: str) -> tuple[str, ...]:
    if not known(tree.exists(device)):
        raise NotKnown(f"{device} does not exist")
    return known(tree.names(f"{device}/net", absent=()))


def _port(tree: Tree, device: str, number: int) -> RdmaPort:
    folder = f"{device}/ports/{number}"
    rate, width = rate_and_width(tree, device, tree.text(f"{folder}/rate"))
    slots = tree.names(f"{folder}/gids")
    return RdmaPort(
        number=number,
        state=_word(tree.text(f"{folder}/state")),
        phys_state=_word(tree.text(f"{folder}/phys_state")),
        link_layer=tree.text(f"{folder}/link_layer"),
        rate_gbps=rate,
        width=width,
        lid=tree.number(f"{folder}/lid", 16),
        sm_lid=tree.number(f"{folder}/sm_lid", 16),
        pkeys=_pkeys(tree, f"{folder}/pkeys"),
        gids=then(slots, lambda names: tuple(_gids(tree, folder, names))),
        gid_slots=then(slots, len),
        traffic_class=tree.text(f"{device}/tc/{number}/traffic_class"),
        counters=_counters(tree, folder),
    )


def _word(text: Text) -> Text:
    """`4: ACTIVE` -> ACTIVE."""
    return then(text, lambda state: state.partition(":")[2].strip() or state)


def rate_and_width(tree: Tree, device: str, text: Text) -> tuple[Number, Text]:
    """`400 Gb/sec (4X NDR)`, as a port of the device says -> 400.0, 4X."""
    if isinstance(text, Unknown):
        return text, text
    match = re.match(r"(\d{1,9}(?:\.\d+)?) Gb/sec(?: \((\d+X))?", text)
    if match is None:
        why = Unknown(f"rate is {text[:60]!r}")
        return why, why
    width = match[2] or Unknown(f"rate {text[:60]!r} has no width")
    if float(match[1]) == _EFA_FIXED_GBPS and tree.link_name(f"{device}/device/driver") == "efa":
        return Unknown("an old efa driver reports 100 Gb/s for every device"), width
    return float(match[1]), width


@or_unknown
def _pkeys(tree: Tree, folder: str) -> tuple[int, ...]:
    keys = [known(tree.number(f"{folder}/{index}", 16)) for index in known(tree.names(folder))]
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


@or_unknown
def _counters(tree: Tree, folder: str) -> tuple[Setting, ...]:
    if True not in (tree.exists(f"{folder}/counters"), tree.exists(f"{folder}/hw_counters")):
        raise NotKnown(f"{folder}/counters does not exist")
    found = [(name.partition("/")[2], tree.text(f"{folder}/{name}")) for name in _COUNTERS]
    return tuple(Setting(name=name, value=value) for name, value in found if isinstance(value, str))


SOURCES = (Source.quick("rdma", "rdma", lambda tree: Rdma(devices=devices(tree))),)
