"""Hosts as users name them."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch import named_hosts
from nccltool.launch.named_hosts import Host


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("n1", [Host("n1")]),
        ("n[01-03],x3", [Host("n01"), Host("n02"), Host("n03"), Host("x3")]),
        ("x3, n1", [Host("x3"), Host("n1")]),
        ("r[1-2]n[01-02]", [Host("r1n01"), Host("r1n02"), Host("r2n01"), Host("r2n02")]),
        ("n[1-5/2]", [Host("n1"), Host("n3"), Host("n5")]),
        ("n[1-3,7]-ib0", [Host("n1-ib0"), Host("n2-ib0"), Host("n3-ib0"), Host("n7-ib0")]),
        ("me@n1:2222", [Host("n1", "me", 2222)]),
        ("dom.me@n[1-2].lan:22", [Host("n1.lan", "dom.me", 22), Host("n2.lan", "dom.me", 22)]),
        ("n1:2222,n1:2223", [Host("n1", port=2222), Host("n1", port=2223)]),
        ("10.0.0.1", [Host("10.0.0.1")]),
        ("fd00::1", [Host("fd00::1")]),
        ("me@[fd00::1%eth0]:22,[::1]", [Host("fd00::1%eth0", "me", 22), Host("::1")]),
    ],
)
def test_hosts(text: str, hosts: list[Host]) -> None:
    assert named_hosts.parse_hosts(text) == tuple(hosts)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--hosts names no host"),
        (" , ", "--hosts names no host"),
        ("n[1-2", "--hosts 'n[1-2': the brackets do not match"),
        ("n1]", "--hosts 'n1]': the brackets do not match"),
        ("n[[1]]", "--hosts 'n[[1]]': the brackets do not match"),
        ("-oProxyCommand", "--hosts: '-oProxyCommand' is not a host"),
        ("-lroot@n1", "--hosts: '-lroot@n1' is not a host"),
        ("n1;reboot", "--hosts: 'n1;reboot' is not a host"),
        ("n1 n2", "--hosts: 'n1 n2' is not a host"),
        ("@all", "--hosts: '@all' is not a host"),
        ("n1:65536", "--hosts: 'n1:65536' is not a host"),
        ("n[a-b]", "--hosts: 'n[a-b]' is not a set of hosts"),
        ("n[2-1]", "--hosts: 'n[2-1]' is not a set of hosts"),
        ("n1:0", "--hosts: 'n1:0' is not a host"),
        ("n1/2", "--hosts: 'n1/2' is not a host"),
        ("n[1-3/0]", "--hosts: 'n[1-3/0]' is not a set of hosts"),
        ("n" * 254, f"--hosts: '{'n' * 60}' is not a host"),
        ("n[1-3],n2", "--hosts: n2 is named twice"),
        ("a@n1,b@n1", "--hosts: n1 is named twice"),
        ("n[0-99999999999999999999]", "--hosts: 'n[0-99999999999999999999]' expands to more than 10000 hosts"),
        ("r[1-999]n[1-999]", "--hosts: 'r[1-999]n[1-999]' expands to more than 10000 hosts"),
        ("a[1-9999],b[1-9999]", "--hosts names more than 10000 hosts"),
    ],
)
def test_words_that_are_no_hosts(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        named_hosts.parse_hosts(text)
    assert refused.value.message.startswith(message)
    assert refused.value.remedy


def test_hosts_of_a_file() -> None:
    text = "# rack 1\nn[1-2]\n\n  me@x3:2222   # behind\r\nn4,n5\n"
    hosts = named_hosts.parse_hostfile(text, "--hostfile F")
    assert hosts == (Host("n1"), Host("n2"), Host("x3", "me", 2222), Host("n4"), Host("n5"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--hostfile F names no host"),
        ("# none\n", "--hostfile F names no host"),
        ("n1\nn2 slots=8\n", "--hostfile F line 2: 'slots=8' is not understood"),
        ("n1\n\nn[1-2\n", "--hostfile F line 3 'n[1-2': the brackets do not match"),
        ("n[1-3]\nx\nn2\n", "--hostfile F line 3: n2 is named twice"),
        ("\x1b[2J\n", "--hostfile F line 1 '\\x1b[2J': the brackets do not match"),
    ],
)
def test_lines_that_are_no_hosts(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        named_hosts.parse_hostfile(text, "--hostfile F")
    assert refused.value.message == message


@pytest.mark.parametrize("text", ["," * 200_000, "[" + ":" * 100_000, ":" * 100_000, "[" * 100_000])
def test_a_long_line_is_judged_in_one_pass(text: str) -> None:
    """Each would take minutes if what follows were looked through again at each of its signs."""
    with pytest.raises(BadInput):
        named_hosts.parse_hosts(text)
