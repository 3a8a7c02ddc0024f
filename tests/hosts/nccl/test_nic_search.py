"""Which of several NICs get channels."""

import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import NotKnown, Pci, PciDevice
from nccltool.hosts.nccl import nic_search
from nccltool.hosts.nccl.nic_search import Nic

IB, ETHERNET = "InfiniBand", "Ethernet"


def nic(name: str, gbps: float, place: str, layer: str = IB) -> Nic:
    """At `place`: the switch that it is below, or its own root port."""
    return Nic(name=name, layer=layer, bytes_per_s=gbps * 1e9 / 8, pci=f"{place}.{name}")


def tree(gpus: tuple[str, ...], nics: tuple[Nic, ...], maker: str = "0x10de", code: int = 0x030200) -> Pci:
    """GPUs and NICs, each below the switch or root port that it is named after."""
    processors = [
        PciDevice(address=f"{place}.gpu{number}", class_code=code, vendor=maker, upstream=(f"root-{place}", place))
        for number, place in enumerate(gpus)
    ]
    cards = [
        PciDevice(address=one.pci or "", class_code=0x020700, upstream=(f"root-{place}", place))
        for one in nics
        for place in [(one.pci or "").partition(".")[0]]
    ]
    console = PciDevice(address="bmc", class_code=0x030000, vendor="0x1a03", upstream=("root-bmc",))
    return Pci(devices=(*processors, *cards, console))


TRAINING = (nic("a", 400, "x"), nic("b", 400, "y"))
STORAGE_IB = nic("s", 200, "own")
STORAGE_ETHERNET = nic("s", 200, "own", ETHERNET)
FAST_STORAGE = nic("s", 400, "own")
MIXED = "ports differ"


@pytest.mark.parametrize(
    ("nics", "gpus", "expected"),
    [
        (TRAINING, ("x", "y"), "ab"),
        ((*TRAINING, STORAGE_IB), ("x", "y"), "ab"),
        ((*TRAINING, STORAGE_ETHERNET), ("x", "y"), "ab"),
        ((*TRAINING, FAST_STORAGE), ("x", "y"), "ab"),  # as fast, and behind the processor
        ((*TRAINING, nic("s", 400, "own", ETHERNET)), ("x", "y"), "ab"),
        ((*TRAINING, nic("s", 200, "x")), ("x", "y"), "ab"),  # beside a GPU, and slower than the one there
        ((nic("a", 400, "x"), nic("b", 400, "x")), ("x",), "ab"),
        ((nic("a", 400, "x"), nic("b", 400, "x")), ("x", "x"), "ab"),
        (TRAINING, ("x", "z"), "ab"),  # one GPU has none beside it: all of a kind are used
        (TRAINING, ("z",), "ab"),
        ((nic("a", 400, "x"),), ("x", "z"), "a"),
        ((*TRAINING, STORAGE_IB), ("x", "z"), MIXED),
        ((*TRAINING, STORAGE_IB), ("own", "y"), MIXED),  # slow and near, or fast and far
        ((nic("a", 200, "x"), nic("b", 400, "own")), ("x",), MIXED),
        ((nic("a", 400, "x"), nic("b", 400, "x", ETHERNET)), ("x",), MIXED),
        ((*TRAINING, STORAGE_IB), (), MIXED),  # no GPU is in the tree
        (TRAINING, (), "ab"),
    ],
)
@pytest.mark.parametrize(("maker", "code"), [("0x10de", 0x030200), ("0x1002", 0x120000)])
def test_who_gets_channels(
    nics: tuple[Nic, ...], gpus: tuple[str, ...], expected: str, maker: str, code: int
) -> None:
    if expected == MIXED:
        with pytest.raises(NotKnown, match=MIXED):
            nic_search.used(nics, tree(gpus, nics, maker, code))
        return
    assert "".join(one.name for one in nic_search.used(nics, tree(gpus, nics, maker, code))) == expected


@pytest.mark.parametrize(
    ("places", "used", "expected"),
    [
        (("x", "y"), ("x.gpu0",), "a"),
        (("x", "y"), ("y.gpu1",), "b"),
        (("x", "y"), ("x.gpu0", "y.gpu1"), "ab"),
        (("x", "z"), ("x.gpu0",), "a"),
        (("x", "z"), ("z.gpu1",), "not every GPU that NCCL uses has a port close to it"),
        (("z", "z"), ("z.gpu0", "z.gpu1"), "ab"),  # all of them, and none has one
        (("x", "y"), ("x.gpu0", "gone"), "ab"),  # not all are in the tree: it says nothing
    ],
)
def test_gpus_without_ranks_bring_no_nics(places: tuple[str, ...], used: tuple[str, ...], expected: str) -> None:
    pci = tree(places, TRAINING)
    if len(expected) > 2:
        with pytest.raises(NotKnown, match=expected):
            nic_search.used(TRAINING, pci, used)
        return
    assert "".join(one.name for one in nic_search.used(TRAINING, pci, used)) == expected


def test_without_the_tree_only_ports_of_a_kind_can_be_told() -> None:
    hidden = Pci(devices=Unknown("/sys/bus cannot be read"))
    assert nic_search.used(TRAINING, hidden) == TRAINING
    with pytest.raises(NotKnown) as why:
        nic_search.used((*TRAINING, STORAGE_ETHERNET), hidden)
    assert str(why.value) == (
        "ports differ (400 Gb/s InfiniBand, 200 Gb/s Ethernet), and which of them are close to GPUs is "
        "unknown; set NCCL_IB_HCA to the right ports"
    )
