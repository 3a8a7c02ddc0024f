"""Preflight over real hosts: who is at fault is named, tested again with another partner, and excluded or not."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.conftest import Start
from tests.lab.lab import Host, Lab
from tests.lab.sshd import Sshd
from tests.support.commands import NCCLTOOL, Ended

pytestmark = [pytest.mark.lab, pytest.mark.slow]
LIMIT_S = 240.0


@pytest.fixture
def suite(tmp_path: Path) -> str:
    """A small one, without what the doctor says of namespaces of one machine."""
    file = tmp_path / "lab.toml"
    file.write_text(
        'schema = 1\ntitle = "lab"\nabout = "20 s"\n[inventory]\n[reach]\n'
        '[doctor]\nselect = ["NETIF001", "PLG007"]\n'
        '[across]\nops = ["all_reduce"]\nsizes = ["64 KiB"]\n'
        '[[across.expect]]\nmetric = "late"\nat_most = "20 ms"\nsource = "a test"\n'
    )
    return str(file)


Check = Callable[..., tuple[int, dict[str, Any], dict[str, list[str]]]]


@pytest.fixture
def check(suite: str, tmp_path: Path, start: Start) -> Iterator[Check]:
    def run(lab: Lab, servers: Sshd, *words: str, **env: str) -> tuple[int, dict[str, Any], dict[str, list[str]]]:
        hosts = f"n[1-{len(lab.hosts)}]"
        argv = (*NCCLTOOL, "preflight", "--suite", suite, "--hosts", hosts, "--ssh", " ".join(servers.ssh))
        more = ("--format", "json", "--timeout", "8", "--hosts-dir", str(tmp_path / "lists"), *words)
        ended: Ended = start(lab.hosts[0], (*argv, *more), **env).wait(LIMIT_S)
        assert ended.stdout, ended.said
        assert lab.quiet()
        lists = {file.name: file.read_text().split() for file in (tmp_path / "lists").iterdir()}
        return ended.code, json.loads(ended.stdout), lists

    yield run


def failures(found: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(one["code"], one["host"]): one["shown"] for one in found["outcomes"] if one["status"] == "fail"}


ALL = ["n1", "n2", "n3", "n4"]


def test_healthy_hosts(lab_of_four: Lab, with_sshd: Callable[[Lab], Sshd], check: Check) -> None:
    code, found, lists = check(lab_of_four, with_sshd(lab_of_four))
    assert (code, found["status"], failures(found)) == (0, "pass", {})
    assert (lists["hosts.pass"], lists["nodes.exclude"]) == (ALL, [])


@pytest.mark.parametrize(
    ("drill", "code", "what", "host"),
    [
        ("corrupt:rank=1", 1, "across/data", "n2"),
        ("slow:rank=3,ms=60", 1, "across/late", "n4"),
        ("kill:rank=0", 3, "across/completed", "n1"),
        ("hang:rank=2", 3, "across/completed", "n3"),
    ],
)
def test_a_fault_is_confirmed_with_another_partner(
    lab_of_four: Lab,
    with_sshd: Callable[[Lab], Sshd],
    check: Check,
    drill: str,
    code: int,
    what: str,
    host: str,
) -> None:
    got, found, lists = check(lab_of_four, with_sshd(lab_of_four), NCCLTOOL_FAULT=drill)
    assert (got, failures(found)) == (code, {(what, host): "confirmed"})
    others = [name for name in ALL if name != host]
    assert (lists["hosts.fail"], lists["hosts.pass"], lists["nodes.exclude"]) == ([host], others, [host])


@pytest.mark.parametrize(
    ("drill", "code", "undetermined"),
    [("corrupt:rank=1", 1, ["n1", "n2"]), ("kill:rank=1", 3, ["n2"])],
)
def test_of_two_hosts_none_is_excluded(
    lab: Lab, with_sshd: Callable[[Lab], Sshd], check: Check, drill: str, code: int, undetermined: list[str]
) -> None:
    got, found, lists = check(lab, with_sshd(lab), NCCLTOOL_FAULT=drill)
    assert (got, list(failures(found).values())) == (code, ["suspected"])
    assert [host for _, host in failures(found)] == ["n2"]
    assert (lists["hosts.undetermined"], lists["nodes.exclude"]) == (undetermined, [])


def test_a_host_that_does_not_answer(lab_of_four: Lab, with_sshd: Callable[[Lab], Sshd], check: Check) -> None:
    servers = with_sshd(lab_of_four)
    servers.stop(lab_of_four.hosts[3])
    code, found, lists = check(lab_of_four, servers)
    assert (code, failures(found)) == (3, {("inventory/present", "n4"): "alone"})
    assert (lists["hosts.missing"], lists["hosts.pass"]) == (["n4"], ["n1", "n2", "n3"])
    assert {one["reason"] for one in found["outcomes"] if one["rung"] == "across"} == {"inventory failed"}


def test_the_others_go_on_without_it_when_asked_to(
    lab_of_four: Lab, with_sshd: Callable[[Lab], Sshd], check: Check
) -> None:
    servers = with_sshd(lab_of_four)
    servers.stop(lab_of_four.hosts[3])
    code, found, lists = check(lab_of_four, servers, "--keep-going")
    assert (code, failures(found)) == (3, {("inventory/present", "n4"): "alone"})
    assert {one["status"] for one in found["outcomes"] if one["code"] == "across/data"} == {"pass"}
    assert (lists["hosts.missing"], lists["hosts.pass"]) == (["n4"], ["n1", "n2", "n3"])


def firewall(host: Host, *rules: str) -> None:
    host.run("nft", "add table inet faults")
    host.run("nft", "add chain inet faults input { type filter hook input priority 0; }")
    for rule in rules:
        host.run("nft", f"add rule inet faults input iifname eth0 {rule}")


@pytest.mark.parametrize(
    ("rule", "expected", "excluded"),
    [
        ("tcp dport != 22 ct state new drop", {("reach/ports", "n3"): "confirmed"}, ["n3"]),
        (
            "ip saddr 10.77.0.2 tcp dport != 22 ct state new drop",
            {("reach/ports", "n2"): "suspected", ("reach/ports", "n3"): "suspected"},
            [],
        ),
    ],
    ids=["towards all", "towards one"],
)
def test_a_firewall(
    lab_of_four: Lab,
    with_sshd: Callable[[Lab], Sshd],
    check: Check,
    rule: str,
    expected: dict[tuple[str, str], str],
    excluded: list[str],
) -> None:
    servers = with_sshd(lab_of_four)
    firewall(lab_of_four.hosts[2], rule)
    code, found, lists = check(lab_of_four, servers)
    assert (code, failures(found), lists["nodes.exclude"]) == (1, expected, excluded)


def test_large_packets_that_are_lost(lab_of_four: Lab, with_sshd: Callable[[Lab], Sshd], check: Check) -> None:
    """Large packets do not get into n2: a tunnel on the way, and the interfaces know nothing of it."""
    servers = with_sshd(lab_of_four)
    firewall(lab_of_four.hosts[1], "tcp dport 22 accept", "tcp sport 22 accept", "meta length > 1000 drop")
    code, found, lists = check(lab_of_four, servers)
    assert (code, failures(found)) == (1, {("reach/path-mtu", "n2"): "confirmed"})
    assert lists["nodes.exclude"] == ["n2"]


def test_a_name_that_leads_elsewhere(lab_of_four: Lab, with_sshd: Callable[[Lab], Sshd], check: Check) -> None:
    """n3 calls itself by a name that the others do not know. It warns: the runs themselves use addresses."""
    servers = with_sshd(lab_of_four)
    lab_of_four.hosts[2].run("hostname", "compute-3")
    code, found, _ = check(lab_of_four, servers)
    warned = {(one["code"], one["host"]) for one in found["outcomes"] if one["status"] == "warn"}
    assert ("reach/names", "n3") in warned
    assert (code, failures(found)) == (0, {})


def test_an_interface_that_one_host_does_not_have(
    lab_of_four: Lab, with_sshd: Callable[[Lab], Sshd], check: Check
) -> None:
    servers = with_sshd(lab_of_four)
    servers.stop(lab_of_four.hosts[1])
    servers.start(lab_of_four.hosts[1], "SetEnv=NCCL_SOCKET_IFNAME=eth7")
    code, found, lists = check(lab_of_four, servers)
    assert (code, failures(found)) == (1, {("doctor/NETIF001", "n2"): "alone"})
    assert lists["nodes.exclude"] == ["n2"]


@pytest.mark.parametrize(("hosts", "excluded"), [(2, []), (4, ["n2"])])
def test_another_release_of_torch(
    request: pytest.FixtureRequest,
    with_sshd: Callable[[Lab], Sshd],
    check: Check,
    suite: str,
    tmp_path: Path,
    hosts: int,
    excluded: list[str],
) -> None:
    """Of two hosts nobody can say which one is right; among four the odd one is named."""
    Path(suite).write_text(Path(suite).read_text().replace('select = ["NETIF001", "PLG007"]', 'ignore = ["SHM"]'))
    lab: Lab = request.getfixturevalue("lab" if hosts == 2 else "lab_of_four")
    about = tmp_path / "other/torch-2.0.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.0.0\n")
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\n[ "$(hostname)" = n2 ] && export PYTHONPATH={about.parent}\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    code, found, lists = check(lab, with_sshd(lab), "--remote-python", str(python))
    failed = failures(found)
    assert (code, lists["nodes.exclude"]) == (1, excluded)
    assert failed == {("doctor/version-differs", "n2" if excluded else None): "alone" if excluded else "suspected"}


@pytest.mark.slow
def test_a_host_that_pairs_show_to_be_slow(
    lab_of_four: Lab, with_sshd: Callable[[Lab], Sshd], check: Check, tmp_path: Path
) -> None:
    """Each of its rounds takes long. None is begun that would not end within the budget of the stage."""
    suite, budget_s = tmp_path / "pairs.toml", 90
    suite.write_text(
        'schema = 1\ntitle = "pairs"\nabout = "1 min"\n[inventory]\n'
        f'[pairs]\nrounds = 6\nbudget = "{budget_s} s"\n'
    )
    lab_of_four.wire("100mbit")
    lab_of_four.slow_down(lab_of_four.hosts[2], "10mbit")
    code, found, lists = check(lab_of_four, with_sshd(lab_of_four), "--suite", str(suite))
    assert (code, failures(found)) == (1, {("pairs/node-slow", "n3"): "confirmed"}), found
    assert (lists["hosts.fail"], lists["nodes.exclude"]) == (["n3"], ["n3"])
    (stage_s,) = (one["duration_s"] for one in found["stage_times"] if one["stage"] == "pairs")
    assert 0 < stage_s <= budget_s
