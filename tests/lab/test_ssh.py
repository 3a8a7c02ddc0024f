"""--hosts: nodes on hosts that are reached by a real ssh, what each trouble is called, and that nothing stays."""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nccltool.probe import collectives
from tests.lab.conftest import PORT, Probe, Start, drop
from tests.lab.sshd import Sshd
from tests.support.commands import PROBE, Command, Ended, parent_of, until

pytestmark = pytest.mark.lab

LIMIT_S = 60.0
NAMED_WITHIN_S = 30.0
"""A host that cannot take part is named within 15 s of the start, and what it costs to see the others is added."""
QUICK = ("--op", "all_reduce", "--sizes", "1KiB", "-n", "4")
LONG = ("--op", "all_reduce", "--sizes", "1KiB,64KiB", "-n", "60", "--timeout", "30", "--deadline", "60")
SLOW = "slow:rank=1,size=64KiB,ms=500"
"""The first of two rows comes at once, the second one takes 30 s."""
IN_SECOND_ROW = r"in all_reduce at 64 KiB( \((warm-up|timing)\))?"
REMEDY_BY_NAME = "correct the address of n3 in /etc/hosts here or use its address"


def begin_long(probe: Probe, hosts: str, *words: str, **env: str) -> tuple[Command, dict[int, int]]:
    """A run in its second row, and the process of each rank."""
    command = probe(hosts, *LONG, *words, NCCLTOOL_FAULT=SLOW, **env)
    command.wait_for("enter", rank=1, bytes=65536)
    return command, {event["rank"]: event["pid"] for event in command.events() if event["event"] == "spawned"}


def finding(ended: Ended, code: str) -> dict[str, Any]:
    """The only error of a run that did not complete."""
    assert (ended.code, ended.document["status"]) == (3, "incomplete"), ended.said
    errors = [problem for problem in ended.problems if problem["severity"] == "error"]
    assert [error["code"] for error in errors] == [code], ended.said
    (error,) = errors
    assert f"ERROR {code}: {error['message']}\n" in ended.stdout
    return error


# ---- it works


@pytest.mark.quick
def test_four_hosts(servers: Sshd, probe: Probe) -> None:
    ended = probe("n[1-4]", "--sizes", "1KiB,64KiB", "-n", "4").wait(LIMIT_S)
    assert (ended.code, ended.document["status"], ended.problems) == (0, "pass", []), ended.said
    run = ended.document["run"]
    assert (run["nodes"], run["world_size"], run["emulated"]) == (4, 4, False)
    assert run["hosts"] == ["n1", "n2", "n3", "n4"]
    rows = [(row["op"], row["bytes"], row["wrong"]) for row in ended.document["measurements"]]
    assert rows == [(op, size, 0) for op in collectives.IN_ALL for size in (1024, 65536)]
    assert ended.stderr.startswith("launcher: ssh (--hosts names 4 hosts)\n")
    assert ended.litter == []
    assert servers.lab.quiet()


@pytest.mark.slow
def test_hosts_of_a_file_and_two_ranks_on_each(servers: Sshd, start: Start, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("# the two that are free\nn3\nroot@n2:22  # behind\n")
    words = ("--hostfile", str(tmp_path / "hosts"), "--nproc-per-node", "2", "--ssh", " ".join(servers.ssh))
    ended = start(servers.lab.hosts[0], (*PROBE, *words, *QUICK)).wait(LIMIT_S)
    assert (ended.code, ended.document["run"]["hosts"]) == (0, ["n3", "n2"]), ended.said
    assert ended.document["run"]["world_size"] == 4
    assert servers.lab.quiet()


def test_nothing_is_shared_but_the_network(servers: Sshd, probe: Probe, tmp_path: Path) -> None:
    """On n2 the package is in another place, and the run's folder is not there at all."""
    there = tmp_path / "elsewhere"
    shutil.copytree(Path(__file__).parents[2] / "nccltool", there / "nccltool")
    python = tmp_path / "python there"  # a name that a careless quoting would tear
    hidden = tmp_path / "n1"
    hidden.mkdir()
    python.write_text(
        "#!/bin/sh\nhere=$(hostname)\n"
        f'[ "$here" = n1 ] || exec unshare --mount sh -c \'mount -t tmpfs none "{hidden}" && cd / && '
        f'export PYTHONPATH="{there}" && exec {sys.executable} "$@"\' sh "$@"\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    ended = probe("n[1-2]", *QUICK, "--remote-python", str(python)).wait(LIMIT_S)
    assert (ended.code, ended.document["status"]) == (0, "pass"), ended.said
    assert servers.lab.quiet()


def test_variables_that_are_named_reach_the_ranks_and_are_kept_nowhere(servers: Sshd, probe: Probe) -> None:
    """GLOO_SOCKET_IFNAME goes there by itself; what a rank says of it proves that it arrived."""
    env = {"GLOO_SOCKET_IFNAME": "eth0", "MY_TOKEN": "s3cret-of-mine"}
    command = probe("n[1-2]", *LONG, "--remote-env", "MY_TOKEN", NCCLTOOL_FAULT=SLOW, **env)
    command.wait_for("enter", rank=1, bytes=65536)
    ranks = [event["pid"] for event in command.events() if event["event"] == "spawned"]
    for pid in ranks:
        # a process keeps the environment that it was started with; Python's own is set later
        assert "s3cret-of-mine" not in Path(f"/proc/{pid}/environ").read_text()
    lines = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert "s3cret-of-mine" not in lines
    command.send(signal.SIGINT)
    ended = command.wait(LIMIT_S)
    kept = "".join(file.read_text() for file in ended.run.iterdir())
    assert "s3cret-of-mine" not in kept
    assert '"GLOO_SOCKET_IFNAME": "eth0"' in (ended.run / "job.json").read_text()
    assert servers.lab.quiet()


# ---- hosts that cannot take part


def test_every_host_that_cannot_take_part_is_named_at_once(servers: Sshd, probe: Probe, tmp_path: Path) -> None:
    """n2 has another host key, n3 is down, the sshd of n4 is stopped, nx is no host, and n1 is well."""
    _, two, three, four = servers.lab.hosts
    servers.known_hosts.write_text("".join(servers.known(host) for host in servers.lab.hosts if host is not two))
    three.link("down")
    servers.stop(four)
    ended = probe("n[1-4],nx", *QUICK).wait(NAMED_WITHIN_S)
    assert (ended.code, ended.document["status"]) == (3, "incomplete"), ended.said
    assert [(error["code"], error["subject"]["name"], error["message"]) for error in ended.problems] == [
        ("host-refused", "n2", "n2 cannot be used: its host key matches no key known here"),
        ("host-unreachable", "n3", "n3 cannot be used: it does not answer"),
        ("host-refused", "n4", "n4 cannot be used: no sshd answers on this port"),
        ("host-unknown", "nx", "nx cannot be used: its name does not resolve here"),
    ]
    assert ended.document["run"]["hosts"] == ["n1"]
    assert servers.lab.quiet()


def test_a_python_that_is_not_there_or_lacks_torch(servers: Sshd, probe: Probe, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f"""#!/bin/sh
case $(hostname) in
n2) exec /usr/bin/no-such-python "$@";;
n3) exec {sys.executable} -I -S "$@";;
n4) printf '\\033[2Jgone\\n' >&2; exit 9;;
esac
exec {sys.executable} "$@"
""")
    python.chmod(0o755)
    ended = probe("n[1-4]", *QUICK, "--remote-python", str(python)).wait(NAMED_WITHIN_S)
    assert ended.code == 3, ended.said
    assert [(error["code"], error["message"]) for error in ended.problems] == [
        ("host-misconfigured", "n2 cannot be used: it has no such Python"),
        ("host-misconfigured", "n3 cannot be used: its Python lacks a package"),
        ("host-misconfigured", "n4 cannot be used: the node process there ended (exit code 9) before it started"),
    ]
    assert "\n    \\x1b[2Jgone\n" in ended.stdout  # what a host prints does not reach the terminal as it is
    assert "\x1b" not in ended.stdout
    assert servers.lab.quiet()


@pytest.mark.slow
def test_a_torch_that_cannot_be_imported(servers: Sshd, probe: Probe, tmp_path: Path) -> None:
    """The node process of n2 has met the others by then."""
    (tmp_path / "broken/torch").mkdir(parents=True)
    (tmp_path / "broken/torch/__init__.py").write_text(
        "import time; time.sleep(2); raise ImportError('libcudart.so.13: cannot open')"
    )
    python = tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\n[ $(hostname) = n2 ] && export PYTHONPATH={tmp_path}/broken\nexec {sys.executable} "$@"\n'
    )
    python.chmod(0o755)
    ended = probe("n[1-3]", *QUICK, "--remote-python", str(python)).wait(NAMED_WITHIN_S)
    error = finding(ended, "node-failed")
    assert error["subject"] == {"kind": "host", "name": "n2"}
    assert error["message"] == "the node process on n2 ended (exit code 1) before its ranks were done"
    assert error["evidence"][-1] == "ImportError: libcudart.so.13: cannot open"
    assert servers.lab.quiet()


@pytest.mark.slow
def test_a_host_that_hangs_at_login(servers: Sshd, probe: Probe) -> None:
    servers.stop(servers.lab.hosts[2])
    servers.start(servers.lab.hosts[2], "ForceCommand=sleep 60")
    error = finding(probe("n[1-3]", *QUICK).wait(NAMED_WITHIN_S), "host-silent")
    assert error["subject"] == {"kind": "host", "name": "n3"}
    assert error["message"].startswith("n3 sent nothing for ")
    servers.lab.hosts[2].kill_everything()  # what hangs there is not ours


def test_a_name_that_is_loopback_where_the_command_runs(servers: Sshd, probe: Probe) -> None:
    """n3 leads to n1 itself, whose key is not that of n3."""
    one, two, three, _ = servers.lab.hosts
    one.knows({one.name: one.address, two.name: two.address, three.name: "127.0.1.1"})
    error = finding(probe("n[1-3]", *QUICK).wait(NAMED_WITHIN_S), "host-refused")
    assert (error["subject"]["name"], error["remedy"]) == ("n3", REMEDY_BY_NAME)
    assert error["evidence"][0] == "n3 resolves to 127.0.1.1 here, which is this host"
    assert servers.lab.quiet()


@pytest.mark.parametrize(
    "hosts",
    ["n[1-3]", *(pytest.param(hosts, marks=pytest.mark.slow) for hosts in ("n[2-3]", "n3,n1,n2"))],
)
def test_a_loopback_name_and_keys_that_nobody_looks_at(servers: Sshd, probe: Probe, hosts: str) -> None:
    one, two, three, _ = servers.lab.hosts
    one.knows({one.name: one.address, two.name: two.address, three.name: "127.0.1.1"})
    careless = f"{' '.join(servers.ssh)} -o StrictHostKeyChecking=no -o 'UserKnownHostsFile=/dev/null'"
    error = finding(probe(hosts, *QUICK, "--ssh", careless).wait(NAMED_WITHIN_S), "host-twice")
    assert (error["subject"]["name"], error["remedy"]) == ("n3", REMEDY_BY_NAME)
    assert error["message"] == "n3 resolves to 127.0.1.1 here, so ssh reached this host, n1, instead"
    assert servers.lab.quiet()


@pytest.mark.slow
def test_two_names_of_one_host(servers: Sshd, probe: Probe) -> None:
    one, two, three, _ = servers.lab.hosts
    one.knows({one.name: one.address, two.name: two.address, three.name: two.address})
    careless = f"{' '.join(servers.ssh)} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    error = finding(probe("n[1-3]", *QUICK, "--ssh", careless).wait(NAMED_WITHIN_S), "host-twice")
    assert error["message"] == "n3 is the same host as n2: both are n2"
    assert servers.lab.quiet()


@pytest.mark.slow
def test_a_name_that_is_loopback_on_its_own_host(servers: Sshd, probe: Probe) -> None:
    """Debian's default. It is a warning, and the run takes the interface that leads to the others."""
    three = servers.lab.hosts[2]
    three.knows({**{host.name: host.address for host in servers.lab.hosts}, three.name: "127.0.1.1"})
    ended = probe("n[1-3]", *QUICK).wait(LIMIT_S)
    assert (ended.code, ended.document["status"]) == (0, "warn"), ended.said
    (warning,) = ended.problems
    assert (warning["code"], warning["subject"]) == ("loopback-hostname", {"kind": "host", "name": "n3"})
    assert len(ended.document["measurements"]) == 1
    assert servers.lab.quiet()


@pytest.mark.slow
def test_an_interface_that_one_host_does_not_have(servers: Sshd, probe: Probe) -> None:
    servers.stop(servers.lab.hosts[2])
    servers.start(servers.lab.hosts[2], "SetEnv=OMP_NUM_THREADS=1 GLOO_SOCKET_IFNAME=ib9")
    error = finding(probe("n[1-3]", *QUICK).wait(NAMED_WITHIN_S), "interface-unusable")
    assert error["message"] == "rank 2 on n3 cannot use GLOO_SOCKET_IFNAME=ib9: ib9: it has lo, eth0"
    assert servers.lab.quiet()


@pytest.mark.slow
def test_without_those_that_cannot(servers: Sshd, probe: Probe) -> None:
    """--keep-going measures with the others; the run is incomplete all the same."""
    servers.stop(servers.lab.hosts[0])
    servers.lab.hosts[2].link("down")
    ended = probe("n[1-4]", *QUICK, "--keep-going").wait(LIMIT_S)
    assert (ended.code, ended.document["status"]) == (3, "incomplete"), ended.said
    errors = [one for one in ended.problems if one["severity"] == "error"]  # a dead link may repeat segments, too
    assert [(error["code"], error["subject"]["name"]) for error in errors] == [
        ("host-refused", "n1"),
        ("host-unreachable", "n3"),
    ]
    run = ended.document["run"]
    assert (run["hosts"], run["nodes"], run["world_size"]) == (["n2", "n4"], 2, 2)
    assert [row["wrong"] for row in ended.document["measurements"]] == [0]
    assert servers.lab.quiet()


# ---- firewalls


@pytest.mark.parametrize(
    ("culprit", "hook", "what"),
    [
        pytest.param(
            2,
            "output",
            rf"n3 cannot reach node 0 \(n1\) at n1:{PORT} \(--rdzv-endpoint\)",
            marks=pytest.mark.slow,
        ),
        (
            0,
            "input",
            rf"n1 is node 0, and none of the 2 other nodes can reach it at n1:{PORT} \(--rdzv-endpoint\)",
        ),
    ],
)
def test_a_firewall_drops_the_port_of_the_rendezvous(
    servers: Sshd, probe: Probe, culprit: int, hook: str, what: str
) -> None:
    drop(servers.lab.hosts[culprit], hook, f"tcp dport {PORT} drop")
    command = probe("n[1-3]", *QUICK, "--rdzv-endpoint", f"n1:{PORT}")
    error = finding(command.wait(NAMED_WITHIN_S), "rdzv-unreachable")
    assert error["subject"] == {"kind": "host", "name": f"n{culprit + 1}"}
    assert re.fullmatch(what, error["message"])
    assert error["evidence"] == ["n1: no answer within 5 s: a firewall drops the packets, or there is no route"]
    assert servers.lab.quiet()


def test_a_firewall_lets_only_the_rendezvous_through(servers: Sshd, probe: Probe) -> None:
    """As an administrator opens the one port that was asked for: ranks talk through others."""
    drop(
        servers.lab.hosts[2],
        "input",
        "iifname lo accept",
        "ct state established accept",
        f"tcp dport {{ 22, {PORT} }} accept",
        "drop",
    )
    command = probe("n[1-3]", *QUICK, "--rdzv-endpoint", f"n1:{PORT}")
    error = finding(command.wait(NAMED_WITHIN_S), "peer-unreachable")
    assert error["subject"] == {"kind": "host", "name": "n3"}
    assert error["message"].startswith("n3 cannot be reached by n1, n2: ")
    assert servers.lab.quiet()


def test_large_packets_are_lost_on_the_way(servers: Sshd, probe: Probe) -> None:
    """As between hosts with jumbo frames and a switch without: small packets arrive, and every job hangs."""
    drop(servers.lab.hosts[2], "input", "tcp dport 22 accept", "tcp sport 22 accept", "meta length > 1000 drop")
    error = finding(probe("n[1-3]", *QUICK).wait(NAMED_WITHIN_S), "large-packets-lost")
    assert error["subject"] == {"kind": "host", "name": "n3"}
    assert error["message"] == "large packets between n3 and n1, n2 are lost on the way to n3"
    assert servers.lab.quiet()


def test_the_port_is_in_use(servers: Sshd, probe: Probe, start: Start) -> None:
    holder = start(servers.lab.hosts[0], (sys.executable, "-c", HOLDER))
    assert until(lambda: "holds" in (holder.folder / "stdout").read_text(), 20)
    command = probe("n[1-2]", *QUICK, "--rdzv-endpoint", f"n1:{PORT}")
    error = finding(command.wait(NAMED_WITHIN_S), "port-in-use")
    assert error["message"] == f"n1 cannot listen on port {PORT}: Address already in use"


HOLDER = "import socket, time; s = socket.create_server(('', 29500)); print('holds', flush=True); time.sleep(99)"


# ---- faults while it runs


def test_a_rank_is_killed(servers: Sshd, probe: Probe) -> None:
    command, pids = begin_long(probe, "n[1-3]")
    os.kill(pids[1], signal.SIGKILL)
    error = finding(command.wait(NAMED_WITHIN_S), "rank-died")
    message = rf"rank 1 on n2 \(node 1, pid {pids[1]}\) was killed by SIGKILL {IN_SECOND_ROW}"
    assert re.fullmatch(message, error["message"])
    assert servers.lab.quiet()


def test_a_node_process_is_killed(servers: Sshd, probe: Probe) -> None:
    """The one that has torch, and the one that holds the leash."""
    command, pids = begin_long(probe, "n[1-3]")
    node = parent_of(parent_of(parent_of(pids[1])))  # supervisor, agent, node process
    os.kill(node, signal.SIGKILL)
    error = finding(command.wait(NAMED_WITHIN_S), "agent-killed")
    assert error["subject"] == {"kind": "host", "name": "n2"}
    assert servers.lab.quiet()


@pytest.mark.slow
def test_the_far_end_of_the_leash_is_killed(servers: Sshd, probe: Probe) -> None:
    command, pids = begin_long(probe, "n[1-3]")
    leash = parent_of(parent_of(parent_of(parent_of(pids[1]))))
    os.kill(leash, signal.SIGKILL)
    error = finding(command.wait(NAMED_WITHIN_S), "host-lost")
    assert error["subject"] == {"kind": "host", "name": "n2"}
    assert error["message"].startswith(
        "n2 was lost: its ssh session ended without a reason: the node process there or ssh itself was killed"
    )
    assert [row["bytes"] for row in command.wait(1).document["measurements"]] == [1024]
    assert servers.lab.quiet()


@pytest.mark.slow
def test_a_host_is_cut_off(servers: Sshd, probe: Probe) -> None:
    command, _ = begin_long(probe, "n[1-3]")
    servers.lab.hosts[1].link("down")
    error = finding(command.wait(NAMED_WITHIN_S), "host-lost")
    assert (error["subject"]["name"], error["message"]) == ("n2", "n2 was lost: the connection to it broke")
    assert error["evidence"][-1] == "Timeout, server n2 not responding."
    assert until(lambda: not command.living(), 30)  # n2 hears nothing for 20 s


@pytest.mark.slow
def test_the_host_of_the_command_is_cut_off(servers: Sshd, probe: Probe) -> None:
    command, _ = begin_long(probe, "n[1-3]")
    servers.lab.hosts[0].link("down")
    error = finding(command.wait(NAMED_WITHIN_S), "host-lost")
    assert error["subject"] == {"kind": "host", "name": "n1"}
    assert error["evidence"][0] == "other hosts: n2, n3"
    assert until(lambda: not command.living(), 30)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, 130, marks=pytest.mark.slow),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_the_command_is_ended(servers: Sshd, probe: Probe, number: signal.Signals, code: int) -> None:
    command, _ = begin_long(probe, "n[1-3]")
    command.send(number)
    ended = command.wait(LIMIT_S)
    assert ended.code == code, ended.said
    if code == 130:
        assert [row["bytes"] for row in ended.document["measurements"]] == [1024]
    assert servers.lab.quiet()
    assert command.everything_gone()
    assert ended.litter == [] or number == signal.SIGKILL  # the folder of the command itself, which had no time


@pytest.mark.slow
def test_the_command_is_killed_while_hosts_come(servers: Sshd, probe: Probe) -> None:
    """Between the job and the start: n4 does not answer, and the others wait for it."""
    servers.lab.hosts[3].link("down")
    servers.lab.hosts[0].run("ip", "neigh", "replace", "10.77.0.4", "lladdr", "02:00:00:00:00:09", "dev", "eth0")
    command = probe("n[1-4]", *QUICK)
    for node in (0, 1, 2):
        command.wait_for("node", node=node)
    command.send(signal.SIGKILL)
    command.wait(LIMIT_S)
    assert servers.lab.quiet()
