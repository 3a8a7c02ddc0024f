"""The laboratory's own sshd: what the tests of the ssh launcher and of mpirun stand on."""

from collections.abc import Callable

import pytest

from tests.lab.conftest import Start
from tests.lab.lab import Lab
from tests.lab.sshd import Sshd
from tests.support.commands import until

pytestmark = pytest.mark.lab


def test_each_host_answers_with_its_own_key(lab: Lab, with_sshd: Callable[[Lab], Sshd], start: Start) -> None:
    servers = with_sshd(lab)
    one, two = lab.hosts
    for host in lab.hosts:
        ended = start(one, (*servers.ssh, host.name, "hostname; echo $OMP_NUM_THREADS")).wait(30)
        assert (ended.code, ended.stdout, ended.stderr) == (0, f"{host.name}\n1\n", "")
    servers.known_hosts.write_text(servers.known(one))
    ended = start(one, (*servers.ssh, two.name, "hostname")).wait(30)
    assert (ended.code, ended.stdout) == (255, "")
    assert "Host key verification failed." in ended.stderr
    servers.stop(two)
    ended = start(one, (*servers.ssh, two.name, "hostname")).wait(30)
    assert ended.code == 255
    assert "Connection refused" in ended.stderr
    assert lab.quiet()


def test_a_session_counts_as_a_process_of_its_host(
    lab: Lab, with_sshd: Callable[[Lab], Sshd], start: Start
) -> None:
    servers = with_sshd(lab)
    one, two = lab.hosts
    command = start(one, (*servers.ssh, two.name, "echo up; exec sleep 60"))
    assert until(lambda: len(command.living()) >= 2, 20.0)  # the far end bears the mark of the command
    assert two.pids()
    assert command.process.poll() is None
    for host in lab.hosts:
        host.kill_everything()
    assert lab.quiet()
