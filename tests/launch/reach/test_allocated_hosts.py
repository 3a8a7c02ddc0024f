"""The launchers inside jobs of PBS, LSF and Flux."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch.launchers import flux, pbs
from tests.launch.test_order import JOIN, chosen

LSF = {"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "a1 16 a2 16 a3 8 "}
FLUX = {"FLUX_URI": "local:///run/flux/local", "FLUX_ENCLOSING_ID": "f2RA"}
OPEN_PBS = "x1.hsn\nx1.hsn\nx2.hsn\nx2.hsn\n"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """ssh, blaunch and flux; the broker of Flux names two hosts."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name in ("ssh", "blaunch", "flux"):
        (folder / name).write_text("#!/bin/sh\necho 'g[9-10]'\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def of_pbs(folder: Path, text: str = OPEN_PBS, **env: str) -> dict[str, str]:
    (folder / "nodes").write_text(text)
    path = {"PATH": os.environ["PATH"]}
    return {**path, "PBS_JOBID": "123.polaris-pbs-01", "PBS_NODEFILE": str(folder / "nodes"), **env}


def test_pbs_reaches_its_hosts_by_ssh(programs: Path, tmp_path: Path) -> None:
    where = chosen(env=of_pbs(tmp_path))
    assert (where.launch.launcher, where.launch.why) == ("pbs", "job 123: 2 hosts")
    assert (where.nodes, where.nproc, where.targets) == (2, 2, ("x1.hsn", "x2.hsn"))
    assert [command.argv[0] for command in where.launch.commands] == ["ssh", "ssh"]
    assert where.launch.remote


@pytest.mark.parametrize(
    ("text", "env", "words", "nodes", "nproc"),
    [
        ("x1\nx2\nx3\n", {}, (), 3, None),
        ("x1\nx2\nx3\n", {}, ("--nodes", "2"), 2, None),
        ("x1\nx1\nx2\n", {}, ("--nproc-per-node", "4"), 2, 4),
        ("x1\n" * 64 + "x2\n" * 64, {"PBS_NUM_PPN": "64"}, (), 2, None),
        ("x1\nx2\nx3\n", {}, ("--launcher", "pbs", "--hosts", "x3,x1"), 2, None),
        ("x1\nx2\n", {}, ("--launcher", "pbs", "--nodes", "1"), 1, None),
    ],
)
def test_ranks_and_nodes_of_pbs(
    programs: Path,
    tmp_path: Path,
    text: str,
    env: Mapping[str, str],
    words: tuple[str, ...],
    nodes: int,
    nproc: int | None,
) -> None:
    where = chosen(*words, env=of_pbs(tmp_path, text, **env))
    assert (where.launch.launcher, where.nodes, where.nproc) == ("pbs", nodes, nproc)


def test_lsf_reaches_its_hosts_by_blaunch(programs: Path) -> None:
    where = chosen(env={**LSF, "NCCL_DEBUG": "WARN"})
    assert (where.launch.launcher, where.launch.why) == ("lsf", "job 7: 3 hosts")
    assert (where.nodes, where.nproc, where.targets) == (3, None, ("a1", "a2", "a3"))
    assert [command.argv[:2] for command in where.launch.commands] == [
        ("blaunch", "a1"),
        ("blaunch", "a2"),
        ("blaunch", "a3"),
    ]
    assert where.env == {"NCCL_DEBUG": "WARN"}


def test_flux_reaches_its_hosts_by_the_ranks_of_their_brokers(programs: Path) -> None:
    env = {**FLUX, "PATH": os.environ["PATH"]}
    where = chosen("--launcher", "flux", "--hosts", "g10", env=env)
    assert (where.launch.launcher, where.targets) == ("flux", ("g10",))
    assert where.launch.commands[0].argv[:4] == ("flux", "exec", "--rank", "1")
    assert chosen(env=env).launch.why == "job f2RA: 2 hosts"


@pytest.mark.parametrize(
    ("words", "env", "launcher"),
    [
        (("--launcher", "local"), LSF, "local"),
        (JOIN, LSF, "local"),
        (("--hosts", "n1"), LSF, "ssh"),
        ((), {**LSF, "LSB_MCPU_HOSTS": "a1 16"}, "local"),
        (("--launcher", "local"), {**LSF, "LSB_MCPU_HOSTS": "a1 sixteen"}, "local"),
        (("--launcher", "local"), {"FLUX_URI": "local:///nowhere", "PATH": "/nowhere"}, "local"),
        ((), {"PBS_JOBID": "1"}, "local"),
        ((), {**LSF, "PBS_JOBID": "1", "PBS_NODEFILE": "/nowhere"}, "lsf"),
    ],
)
def test_other_launchers_in_a_job(
    programs: Path, words: tuple[str, ...], env: Mapping[str, str], launcher: str
) -> None:
    assert chosen(*words, env=env).launch.launcher == launcher


@pytest.mark.parametrize(
    ("env", "message"),
    [
        (LSF, "LSF job 7 has 3 hosts, but blaunch was not found in PATH"),
        ({**LSF, "LSB_MCPU_HOSTS": "a1 x"}, "LSB_MCPU_HOSTS='a1 x' is not a list of hosts and counts"),
        (
            {"PBS_JOBID": "1", "PBS_NODEFILE": "/nowhere"},
            "PBS_NODEFILE /nowhere cannot be read: No such file or directory",
        ),
        (
            {"FLUX_URI": "local:///nowhere", "PATH": "/nowhere"},
            "FLUX_URI is set, but the hosts of the instance are not known: "
            "`flux getattr hostlist` cannot be started: [Errno 2] No such file or directory: 'flux'",
        ),
    ],
    ids=["lsf", "damaged", "pbs", "flux"],
)
@pytest.mark.parametrize("words", [(), ("--nodes", "2")])
def test_a_job_that_cannot_be_used_is_not_measured_on_one_host(
    env: Mapping[str, str], words: tuple[str, ...], message: str
) -> None:
    with pytest.raises(BadInput) as error:
        chosen(*words, env=env)
    assert error.value.message == message
    assert error.value.remedy.endswith("; to measure this host alone, use --launcher local")


@pytest.mark.parametrize(
    ("launcher", "env", "job"),
    [("lsf", {**LSF, "LSB_MCPU_HOSTS": "a1 16"}, "LSF job 7"), ("pbs", {}, "PBS job 123")],
)
def test_a_job_of_one_host_needs_no_launcher(
    programs: Path, tmp_path: Path, launcher: str, env: Mapping[str, str], job: str
) -> None:
    with pytest.raises(BadInput) as error:
        chosen("--launcher", launcher, env=env or of_pbs(tmp_path, "a1\n"))
    assert error.value.message == f"--launcher {launcher}: {job} has only one host, a1"
    assert error.value.remedy.startswith(f"omit --launcher {launcher} to measure that host")


@pytest.mark.parametrize(
    ("words", "env", "message"),
    [
        (("--launcher", "lsf"), {}, "--launcher lsf was requested outside a job"),
        (("--launcher", "pbs"), {}, "--launcher pbs was requested outside a job"),
        (("--launcher", "flux"), {}, "--launcher flux was requested outside a job"),
        (("--nodes", "4"), LSF, "--nodes 4, but LSF job 7 has 3"),
        (("--launcher", "lsf", "--hosts", "a1,b7"), LSF, "--hosts: b7 is not a host of LSF job 7"),
        (
            ("--launcher", "lsf"),
            {**LSF, "LSB_MCPU_HOSTS": "a1 x"},
            "LSB_MCPU_HOSTS='a1 x' is not a list of hosts and counts",
        ),
        (
            ("--launcher", "lsf"),
            {**LSF, "LSB_MCPU_HOSTS": "-oProxyCommand=x 1"},
            "LSB_MCPU_HOSTS: '-oProxyCommand=x' is not a host; a name starts with a letter or digit",
        ),
        (
            ("--launcher", "pbs"),
            {"PBS_JOBID": "1", "PBS_NODEFILE": "/nowhere"},
            "PBS_NODEFILE /nowhere cannot be read: No such file or directory",
        ),
    ],
)
def test_what_cannot_be_done(programs: Path, words: tuple[str, ...], env: Mapping[str, str], message: str) -> None:
    with pytest.raises(BadInput) as error:
        chosen(*words, env=env)
    assert error.value.message == message.split("; a name")[0]
    assert error.value.remedy


def test_unequal_hosts_of_pbs(programs: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        chosen(env=of_pbs(tmp_path, "x1\nx1\nx2\n"))
    assert "1 and 2 processes on its hosts" in error.value.message


@pytest.mark.parametrize("text", ["", "\n", "a b;c\n", "$(reboot)\n", "n[1-2]\n"])
def test_a_damaged_file_of_hosts(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadInput) as error:
        pbs.allocation(of_pbs(tmp_path, text))
    assert str(tmp_path / "nodes") in error.value.message


@pytest.mark.parametrize("text", ["n[1-", "n[1-99999999]"])
def test_a_damaged_answer_of_flux(text: str) -> None:
    with pytest.raises(BadInput) as error:
        flux.expand(text)
    assert text in error.value.message


@pytest.mark.parametrize(
    ("code", "line", "message"),
    [
        (127, "python: not found", "a1 cannot be used: it has no such Python"),
        (1, "ModuleNotFoundError: No module named 'torch'", "a1 cannot be used: its Python lacks a package"),
        (
            1,
            "no contact with the runner for 20 s",
            "a1 was lost: it lost contact with this command and ended its part",
        ),
        (255, "", "a1 was lost: blaunch ended with exit code 255"),
    ],
)
def test_why_a_host_of_lsf_ended(programs: Path, code: int, line: str, message: str) -> None:
    told = chosen(env=LSF).launch.explain("a1", code, [line])
    assert told is not None
    assert told.message == message


def test_an_end_without_a_fault_is_none(programs: Path) -> None:
    assert chosen(env=LSF).launch.explain("a1", 0, []) is None
