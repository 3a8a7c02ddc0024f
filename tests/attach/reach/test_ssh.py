"""Commands of ssh."""

from nccltool.attach.reach import ssh
from nccltool.launch.named_hosts import parse_hosts


def test_a_command_for_each_host() -> None:
    first, second = ssh.commands(parse_hosts("n1,me@n2:2222"), ("ssh", "-F", "x"), "/opt/my python")
    assert (first.name, second.name) == ("n1", "n2")
    assert first.argv[:3] == ("ssh", "-F", "x")
    assert first.argv[-3:] == ("--", "n1", "'/opt/my python' -P -m nccltool.attach.reach.far_end")
    assert "-oBatchMode=yes" in first.argv
    assert second.argv[-6:-2] == ("-p2222", "-l", "me", "--")
