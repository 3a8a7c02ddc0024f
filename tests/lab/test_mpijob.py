"""The pods of an MPIJob as far as a machine without Kubernetes goes.

Hosts have the files, variables and rights that the manifest and the MPI operator give to the pods. On them, sshd
runs with the words of the workers, and mpirun with those of the launcher.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Nccltool
from tests.lab import sshd
from tests.lab.conftest import Start
from tests.lab.lab import Host, Lab
from tests.support.commands import Command, until

pytestmark = pytest.mark.lab

LIMIT_S = 120.0
NAME = "fabric"
_POD = """\
set -eu
folder=$1; shift
mount -t tmpfs none /run
mkdir -p /run/keep /run/sshd /run/nccltool /run/etc/mpi /run/root/.ssh /run/of-etc /run/of-root
mount --bind "$folder" /run/keep
mount -t tmpfs none /tmp
mkdir -p "$folder"
mount --bind /run/keep "$folder"
chmod 777 /run/sshd /tmp
cp /etc/hosts /run/etc/
cp "$folder/hostfile" /run/etc/mpi/
cp "$folder/secret" /run/nccltool/
cp "$folder"/keys/* /run/root/.ssh/
chmod 600 /run/root/.ssh/*
mount -t overlay none -o lowerdir=/etc,upperdir=/run/etc,workdir=/run/of-etc /etc
mount -t overlay none -o lowerdir=/root,upperdir=/run/root,workdir=/run/of-root /root
mount -o remount,bind,ro /
rights=-all,+setuid,+setgid,+sys_chroot
exec env -i PATH="$folder/bin:/usr/bin:/bin" setpriv --no-new-privs --bounding-set="$rights" "$@"
"""
_OPERATOR = {
    "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
    "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
    "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
    "OMPI_MCA_orte_set_default_slots": "1",
}
"""What version 0.8 of the MPI operator adds to a launcher, after the variables of the manifest."""


class Pods:
    """A launcher and two workers."""

    def __init__(self, hosts: list[Host], folder: Path, start: Start, objects: list[dict[str, Any]]) -> None:
        self._folder, self._start = folder, start
        secret, self._job = objects[0], objects[-1]["spec"]
        self._launcher, *self._workers = hosts
        (folder / "keys").mkdir()
        (folder / "bin").mkdir()
        key = folder / "keys/id_rsa"
        subprocess.run(["ssh-keygen", "-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", key], check=True)
        shutil.copy(f"{key}.pub", key.with_name("authorized_keys"))
        (folder / "secret").write_text(secret["stringData"]["secret"])
        (folder / "bin/nccltool").write_text(f'#!/bin/sh\nexec {sys.executable} -m nccltool "$@"\n')
        (folder / "bin/nccltool").chmod(0o755)
        slots = self._job["slotsPerWorker"]
        names = [f"{NAME}-worker-{number}.{NAME}" for number in range(len(self._workers))]
        (folder / "hostfile").write_text("".join(f"{name}.default.svc slots={slots}\n" for name in names))
        for host in hosts:
            with host.hosts_file.open("a") as file:
                for name, worker in zip(names, self._workers, strict=True):
                    file.write(f"{worker.address} {name}.default.svc {name}\n")

    def serve(self) -> None:
        for host in self._workers:
            server = self._pod(host, "Worker")
            host.services.add(server.process.pid)
            log = server.folder / "stderr"
            assert until(partial(_listens, log), 30.0), log.read_text()

    def launch(self) -> Command:
        return self._pod(self._launcher, "Launcher")

    def _pod(self, host: Host, role: str) -> Command:
        (made,) = self._job["mpiReplicaSpecs"][role]["template"]["spec"]["containers"]
        words = [word.replace("$$(", "$(") for word in (*made["command"], *made["args"])]
        variables = {one["name"]: one["value"] for one in made["env"]}
        if role == "Launcher":
            variables |= _OPERATOR
        env = [f"{name}={value}" for name, value in variables.items()]
        argv = ("unshare", "--mount", "sh", "-c", _POD, "pod", str(self._folder), "env", *env, *words)
        return self._start(host, argv)


def _listens(log: Path) -> bool:
    return "Server listening on" in log.read_text()


@pytest.fixture
def hosts_of_three(possible: None) -> Iterator[Lab]:
    lacking = [name for name in ("mpirun", "setpriv") if shutil.which(name) is None]
    if reason := sshd.missing() or (f"needs {', '.join(lacking)}: openmpi-bin util-linux" if lacking else ""):
        pytest.skip(reason)
    with Lab(3) as three:
        yield three


@pytest.mark.parametrize(
    ("fault", "code", "said"),
    [
        pytest.param("", 0, "PASS all_reduce, 1 KiB", marks=pytest.mark.slow),
        ("kill:rank=1,op=all_reduce,size=1KiB", 3, "ERROR rank-died: rank 1 on n3 "),
    ],
    ids=["healthy", "killed"],
)
def test_the_words_of_the_pods(
    fault: str, code: int, said: str, hosts_of_three: Lab, nccltool: Nccltool, start: Start, tmp_path: Path
) -> None:
    probe = ("probe", "--nodes", "2", "--op", "all_reduce", "--sizes", "1KiB", "-n", "4", "--timeout", "20")
    variables = ("--env", "OMP_NUM_THREADS=1", *(("--env", f"NCCLTOOL_FAULT={fault}") if fault else ()))
    pods = ("--kind", "mpijob", "--name", NAME, "--user", "0", *variables)
    printed = nccltool("manifest", "--image", "registry.example/nccltool:1", *pods, *probe)
    lab, folder = hosts_of_three, tmp_path / "pod"
    folder.mkdir()
    job = Pods(lab.hosts, folder, start, list(yaml.safe_load_all(printed.out)))
    job.serve()
    ended = job.launch().wait(LIMIT_S)
    assert ended.code == code, ended.said
    log = tmp_path / "log"
    log.write_text(ended.stdout)
    collected = nccltool("collect", str(log), "--run-dir", str(tmp_path / "runs"))
    assert collected.code == code, (collected, ended.said)
    assert said in collected.out, (collected.out, ended.said)
    assert "2 nodes on n[2-3], 2 ranks" in collected.out
    assert lab.quiet()
