"""The doctor over several hosts, with a real sshd on each."""

import json
from collections.abc import Callable

import pytest

from tests.lab.conftest import Start
from tests.lab.lab import Lab
from tests.lab.sshd import Sshd
from tests.support.commands import NCCLTOOL

pytestmark = pytest.mark.lab
LIMIT_S = 60.0


def argv(servers: Sshd, hosts: str) -> tuple[str, ...]:
    return (*NCCLTOOL, "doctor", "--hosts", hosts, "--ssh", " ".join(servers.ssh), "--format", "json")


def test_what_differs_and_what_is_wrong_on_one(
    lab_of_four: Lab, with_sshd: Callable[[Lab], Sshd], start: Start
) -> None:
    servers = with_sshd(lab_of_four)
    one, _, three, _ = lab_of_four.hosts
    servers.stop(three)
    servers.start(three, "SetEnv=NCCL_SOCKET_IFNAME=eth7")
    ended = start(one, argv(servers, "n[1-4]")).wait(LIMIT_S)
    document = json.loads(ended.stdout)
    assert (ended.code, document["status"]) == (1, "fail"), ended.said
    assert document["run"]["hosts"] == ["n1", "n2", "n3", "n4"]
    said = "\n".join(finding["message"] + " ".join(finding["evidence"]) for finding in document["findings"])
    assert "eth7" in said
    assert "n3" in said
    assert lab_of_four.quiet()


def test_a_host_that_does_not_answer_is_named(
    lab_of_four: Lab, with_sshd: Callable[[Lab], Sshd], start: Start
) -> None:
    servers = with_sshd(lab_of_four)
    servers.stop(lab_of_four.hosts[3])
    ended = start(lab_of_four.hosts[0], argv(servers, "n[1-4]")).wait(LIMIT_S)
    document = json.loads(ended.stdout)
    assert (ended.code, document["status"]) == (3, "incomplete"), ended.said
    assert [f["subject"]["name"] for f in document["findings"] if f["code"] == "host-refused"] == ["n4"]
    assert document["run"]["hosts"] == ["n1", "n2", "n3"]


def test_no_host_answers(lab: Lab, with_sshd: Callable[[Lab], Sshd], start: Start) -> None:
    servers = with_sshd(lab)
    for host in lab.hosts:
        servers.stop(host)
    ended = start(lab.hosts[0], argv(servers, "n[1-2]")).wait(LIMIT_S)
    assert (ended.code, ended.stdout) == (3, "")
    assert "no host could be checked: n1 cannot be used" in ended.stderr
