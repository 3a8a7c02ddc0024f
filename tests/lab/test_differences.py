"""Hosts of one job that are not alike: said by the run itself, whoever started its nodes."""

from collections.abc import Callable

import pytest

from tests.lab.conftest import Start, join
from tests.lab.lab import Lab
from tests.lab.sshd import Sshd
from tests.support.commands import PROBE, Ended

pytestmark = pytest.mark.lab
LIMIT_S = 60.0
SHORT = ("--op", "all_reduce", "--sizes", "1K", "-n", "20")


def differences(ended: Ended) -> dict[tuple[str, str], str]:
    """Code and subject to the message of what differs."""
    return {
        (finding["code"], finding["subject"]["name"]): finding["message"]
        for finding in ended.document["findings"]
        if finding["code"].endswith("-differs")
    }


def test_one_of_three_is_not_like_the_others(
    lab_of_four: Lab, with_sshd: Callable[[Lab], Sshd], start: Start
) -> None:
    servers = with_sshd(lab_of_four)
    one, _, three, _ = lab_of_four.hosts
    three.run("ip", "link", "set", "eth0", "mtu", "1400")
    servers.stop(three)
    servers.start(three, "SetEnv=NCCL_IB_HCA=mlx5_7")
    argv = (*PROBE, *SHORT, "--hosts", "n[1-4]", "--ssh", " ".join(servers.ssh))
    ended = start(one, argv).wait(LIMIT_S)
    assert (ended.code, ended.document["status"]) == (0, "warn"), ended.said
    messages = "\n".join(differences(ended).values())
    assert "MTU of eth0 is 1400 on n3, and 1500 on the other 3" in messages, ended.said
    assert "NCCL_IB_HCA is mlx5_7 on n3, and not set on the other 3" in messages, ended.said
    assert "TMPDIR" not in messages


def test_hosts_that_joined_one_by_one(lab: Lab, start: Start) -> None:
    one, two = lab.hosts
    leader = start(one, join(0, 2, *SHORT), NCCL_ALGO="Ring")
    follower = start(two, join(1, 2, *SHORT), NCCL_ALGO="Tree")
    ended = leader.wait(LIMIT_S)
    assert (ended.code, follower.wait(LIMIT_S).code) == (0, 0), ended.said
    assert "NCCL_ALGO" in "\n".join(differences(ended).values()), ended.said


def test_hosts_that_are_alike(lab: Lab, with_sshd: Callable[[Lab], Sshd], start: Start) -> None:
    servers = with_sshd(lab)
    argv = (*PROBE, *SHORT, "--hosts", "n[1-2]", "--ssh", " ".join(servers.ssh))
    ended = start(lab.hosts[0], argv).wait(LIMIT_S)
    assert (ended.code, ended.problems) == (0, []), ended.said
