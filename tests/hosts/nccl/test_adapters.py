"""Which ports and GIDs NCCL would choose."""

import ipaddress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.versions import Version
from nccltool.hosts.facts import Gid, NotKnown, RdmaDevice, RdmaPort
from nccltool.hosts.nccl import adapters
from nccltool.hosts.nccl.adapters import Port
from nccltool.hosts.nccl.settings import NcclSettings, build

ANSWERS = [
    line.split()
    for line in (Path(__file__).parents[2] / "golden/nccl-gid-choice.txt").read_text().splitlines()
    if not line.startswith("#")
]
NEWEST = Version(2, 30, 7)


def of(**values: str) -> NcclSettings:
    return build({f"NCCL_{name}": value for name, value in values.items()}, version=NEWEST)


def port(*words: str) -> Port:
    """A RoCE port whose table is `address@version` of each slot."""
    kinds = {"1": "IB/RoCE v1", "2": "RoCE v2"}
    rows = [(index, *word.partition("@")[::2]) for index, word in enumerate(words)]
    gids = (
        Gid(index=index, gid=ipaddress.IPv6Address(address).exploded, type=kinds[version])
        for index, address, version in rows
        if version != "0"
    )
    return Port(device=RdmaDevice(name="mlx5_0"), port=RdmaPort(number=1, gids=tuple(gids), gid_slots=len(words)))


@pytest.mark.parametrize("answer", ANSWERS, ids=" ".join)
def test_the_gid_is_that_of_nccl(answer: list[str]) -> None:
    index, version, family, bounds, *table = answer
    given = {"IB_ROCE_VERSION_NUM": version, "IB_ADDR_FAMILY": family, "IB_ADDR_RANGE": bounds}
    settings = of(**{name: value for name, value in given.items() if value != "-"})
    assert adapters.gid_of(settings, port(*table))[0] == int(index)


@pytest.mark.parametrize(
    ("version", "given", "index"),
    [
        (NEWEST, "1", 1),
        (NEWEST, "9", 9),
        (NEWEST, "-1", 2),
        (NEWEST, "", 2),
        (Version(2, 20, 5), "", 0),
        (Version(2, 20, 5), "1", 1),
        (None, "", 2),
    ],
)
def test_an_index_that_is_given_is_taken(version: Version | None, given: str, index: int) -> None:
    settings = build({"NCCL_IB_GID_INDEX": given}, version=version)
    found, gid = adapters.gid_of(settings, port("fe80::1@1", "fe80::1@2", "::ffff:10.0.0.1@2"))
    assert (found, gid is None) == (index, index == 9)


tables = st.lists(
    st.tuples(
        st.integers(0, 300), st.one_of(st.text(max_size=8), st.ip_addresses(v=6).map(str)), st.text(max_size=4)
    ),
    max_size=6,
)


@pytest.mark.slow
@given(
    rows=tables,
    values=st.fixed_dictionaries({}, optional={name: st.text(max_size=9) for name in ("A", "B", "C", "D")}),
)
def test_a_gid_is_found_or_it_is_not_known(rows: list[tuple[int, str, str]], values: dict[str, str]) -> None:
    names = {"A": "IB_GID_INDEX", "B": "IB_ADDR_RANGE", "C": "IB_ADDR_FAMILY", "D": "IB_ROCE_VERSION_NUM"}
    settings = of(**{names[letter]: value for letter, value in values.items()})
    gids = tuple(Gid(index=index, gid=gid, type=kind) for index, gid, kind in rows)
    one = Port(device=RdmaDevice(name="x"), port=RdmaPort(number=1, gids=gids))
    try:
        index, gid = adapters.gid_of(settings, one)
    except NotKnown:
        return
    assert gid is None or gid.index == index


@pytest.mark.parametrize(
    ("pci", "card"), [("0000:18:00.1", "0000:18"), ("0000:18:02.3", "0000:18"), ("0001:18:00.0", "0001:18")]
)
def test_functions_of_a_card_are_of_one_card(pci: str, card: str) -> None:
    assert Port(device=RdmaDevice(name="mlx5_0", pci=pci), port=RdmaPort(number=1)).card == card
