"""Snapshots go through JSON unchanged, and what is wrong with one is said in a sentence."""

import json

import pytest
from msgspec.structs import replace

from nccltool.core.errors import BadInput
from nccltool.core.unknown import Unknown
from nccltool.hosts import facts
from nccltool.hosts.facts import (
    NOT_READ,
    HostFacts,
    NotKnown,
    ProcessLimits,
    from_json,
    to_json,
)
from tests import captured_hosts


@pytest.mark.parametrize("name", captured_hosts.KINDS)
@pytest.mark.parametrize("indent", [0, 2])
def test_a_snapshot_goes_through_json(name: str, indent: int) -> None:
    host = captured_hosts.healthy(name)
    text = facts.to_json(host, indent)
    assert facts.from_json(text, "f") == host
    assert facts.from_json(text.encode(), "f") == host
    assert ("\n" in text) == (indent > 0)


def test_an_older_snapshot_lacks_what_was_not_looked_at_then() -> None:
    host = facts.from_json('{"host": "n1", "limits": {"nofile_soft": 1024}}', "f")
    assert host.limits.nofile_soft == 1024
    assert host.limits.nofile_hard == NOT_READ
    assert host == HostFacts(host="n1", limits=ProcessLimits(nofile_soft=1024))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f is not a facts snapshot: Input data was truncated"),
        ("[]", "f is not a facts snapshot: Expected `object`, got `array`"),
        ("{}", "f is not a facts snapshot: Object missing required field `host`"),
        (
            '{"host": "n", "shm": {"size_bytes": "big"}}',
            "f is not a facts snapshot: Expected `int | object`, got `str` - at `$.shm.size_bytes`",
        ),
        ('{"host": "n", "kind": "probe"}', "f is a document of kind 'probe', not 'facts'"),
        ('{"host": "n", "schema": 9}', "f has schema 9; this nccltool reads 1"),
        ("[" * 100000, "f is not a facts snapshot: Expected `object`, got `array`"),
    ],
)
def test_what_is_no_snapshot_is_said(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        facts.from_json(text, "f")
    assert caught.value.message == message
    assert caught.value.remedy


def test_a_byte_that_is_no_utf8_is_bad_input() -> None:
    with pytest.raises(BadInput, match="f is not a facts snapshot: "):
        facts.from_json(b'{"host": "\xff"}', "f")


def test_looking_things_up() -> None:
    host = captured_hosts.healthy("roce")
    assert host.kernel.sysctl("kernel.numa_balancing") == "0"
    assert host.kernel.sysctl("no.such") == NOT_READ
    assert [one.address for one in host.network.addresses_of("ens3np0")] == ["10.1.3.1"]
    assert host.network.interface("eth9") is None
    peer = host.kernel.module("nvidia_peermem")
    assert peer is not None
    assert host.kernel.module("nv_peer_mem") is None
    assert host.container.device("/dev/gdrdrv") is not None
    assert host.container.namespace("net") == "net:[4026531833]"
    assert host.file("/usr/local/gib") is not None
    with pytest.raises(NotKnown):
        captured_hosts.captured("container").network.interface("eth0")


@pytest.mark.parametrize(
    ("nvidia", "amd", "count"),
    [
        (8, 0, 8),
        (0, 8, 8),
        (0, 0, 0),
        (0, NOT_READ, 0),  # a snapshot of an older release
        (Unknown("/dev/dxg does not tell"), 0, Unknown("/dev/dxg does not tell")),
        (NOT_READ, NOT_READ, NOT_READ),
    ],
)
def test_gpus_of_whichever_make(nvidia: int | Unknown, amd: int | Unknown, count: int | Unknown) -> None:
    host = facts.HostFacts(host="n", nvidia=facts.Nvidia(visible_gpus=nvidia), amd=facts.Amd(visible_gpus=amd))
    assert host.visible_gpus == count


@pytest.mark.parametrize(
    ("kind", "names"),
    [("dgx", ("NVIDIA H100 80GB HBM3",) * 8), ("mi300x", ("AMD Instinct MI300X OAM",) * 8), ("laptop", ())],
)
def test_names_of_gpus(kind: str, names: tuple[str, ...]) -> None:
    assert captured_hosts.captured(kind).gpu_names == names


def test_many_hosts_share_what_they_have_in_common() -> None:
    reader = facts.SnapshotReader()
    base = captured_hosts.healthy("ib")
    read = [reader.read(to_json(replace(base, host=name)).encode(), name) for name in ("n1", "n2")]
    assert [host.host for host in read] == ["n1", "n2"]
    assert read[0] == replace(base, host="n1")
    assert all(getattr(read[0], part) is getattr(read[1], part) for part in ("rdma", "nvidia", "pci", "kernel"))


def test_gpus_with_names_of_their_own_share_their_links() -> None:
    reader = facts.SnapshotReader()
    first, second = (
        reader.read(to_json(captured_hosts.healthy("ib")).replace("GPU-", prefix).encode(), "F").nvidia.gpus
        for prefix in ("GPU-1", "GPU-2")
    )
    assert isinstance(first, tuple)
    assert isinstance(second, tuple)
    assert first[0].uuid != second[0].uuid
    assert first[0].nvlinks is second[0].nvlinks


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"host": 1}',
        '{"host": "n1", "rdma": {"devices": 5}}',
        '{"host": "n1", "kind": "run"}',
        "\xff",
    ],
)
def test_many_are_refused_as_one_is(text: str) -> None:
    with pytest.raises(BadInput) as one:
        from_json(text.encode("latin-1"), "F")
    with pytest.raises(BadInput) as many:
        facts.SnapshotReader().read(text.encode("latin-1"), "F")
    assert many.value.message == one.value.message


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ({"address": "x", "family": "AF_INET"}, "'x' is not an address"),
        ({"address": "10.0.0.1", "family": "AF_INET6"}, "'10.0.0.1' is not an address"),
        ({"address": "10.0.0.1", "family": "AF_INET", "prefix_len": 33}, "33 is not a prefix length"),
        ({"address": "10.0.0.1", "family": "AF_UNIX"}, "'AF_UNIX' is not an address family"),
    ],
)
def test_what_is_no_address_is_refused(address: dict[str, object], problem: str) -> None:
    network = {"addresses": [{"interface": "eth0", **address}]}
    text = json.dumps({"host": "n1", "network": network})
    with pytest.raises(BadInput) as error:
        from_json(text, "n1.json")
    assert problem in error.value.message
    assert "$.network.addresses[0]" in error.value.message
