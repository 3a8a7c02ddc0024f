"""The scripts of docs/slurm, run by the daemons of a real Slurm."""

import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.lab import slurm
from tests.lab.lab import Lab
from tests.lab.slurm import Slurm
from tests.support.commands import NCCLTOOL, until

pytestmark = [pytest.mark.lab, pytest.mark.slow]
Script = Callable[[str], Path]
REASON = "nccltool: LIM001 a process may open 1024 files; allow at least 65536"


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """One of ours, which knows the folder of nccltool; on hosts with a low limit as long as a file is there."""
    tmp_path.chmod(0o755)
    command = tmp_path / "nccltool"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(NCCLTOOL)} "$@"\n')
    command.chmod(0o755)

    def made(name: str) -> Path:
        file = tmp_path / name
        low = f"if [ -e {tmp_path}/low-$(hostname) ]; then ulimit -n 1024; fi"
        env = f"[ ! -e {tmp_path}/env ] || . {tmp_path}/env"
        ours = (ROOT / "docs/slurm" / name).read_text().replace("/opt/nccltool/bin", str(tmp_path))
        file.write_text(f"#!/bin/sh\n{env}\n{low}\n{ours}")
        file.chmod(0o755)
        return file

    return made


def reasons(cluster: Slurm) -> list[str]:
    return cluster.run("sinfo", "-h", "-R", "-o", "%n|%t|%E").splitlines()


@pytest.fixture
def possible_slurm(possible: None) -> None:
    """Skips where there is no Slurm."""
    if reason := slurm.missing():
        pytest.skip(reason)


def test_a_prolog_drains_the_node(possible_slurm: None, script: Script, tmp_path: Path) -> None:
    (tmp_path / "low-n2").touch()
    lines = f"Prolog={script('prolog.sh')}\nPrologFlags=Alloc\n"
    with Lab(2) as lab, Slurm(lab, lines) as cluster:
        assert cluster.run("srun", "-w", "n1", "hostname") == "n1\n"
        said = cluster.run("sh", "-c", "timeout 20 srun -w n2 hostname 2>&1; echo $?")
        assert said.startswith("srun: Prolog failure on node n2\n")
        assert until(lambda: reasons(cluster) == [f"n2|drain|{REASON}"], 20.0), reasons(cluster)
        assert f"prolog failed: rc:1 output:{REASON}\nsoft 1024, hard 1024\n" in cluster.logs()


def test_a_prolog_that_cannot_look_lets_jobs_start(possible_slurm: None, script: Script, tmp_path: Path) -> None:
    lines = f"Prolog={script('prolog.sh')}\nPrologFlags=Alloc\n"
    (tmp_path / "low-n1").touch()
    with Lab(1) as lab, Slurm(lab, lines) as cluster:
        for broken in ("exit 127", "exit 4", "kill -9 $$", "exec sleep 60"):
            (tmp_path / "nccltool").write_text(f"#!/bin/sh\n{broken}\n")
            assert cluster.run("srun", "hostname") == "n1\n"
        assert reasons(cluster) == []


def test_an_epilog_drains_the_node(possible_slurm: None, script: Script, tmp_path: Path) -> None:
    with Lab(2) as lab, Slurm(lab, f"Epilog={script('epilog.sh')}\n") as cluster:
        (tmp_path / "low-n1").touch()
        assert sorted(cluster.run("srun", "-N2", "hostname").split()) == ["n1", "n2"]
        assert until(lambda: reasons(cluster) == [f"n1|drain|{REASON}"], 20.0), reasons(cluster)


def test_a_health_check_drains_and_resumes(possible_slurm: None, script: Script, tmp_path: Path) -> None:
    lines = f"HealthCheckProgram={script('health-check.sh')}\nHealthCheckInterval=2\n"
    with Lab(2) as lab, Slurm(lab, lines) as cluster:
        # slurmd gives it next to no environment, and this configuration is not in the usual place
        (tmp_path / "env").write_text(f"export SLURM_CONF={cluster.env['SLURM_CONF']}\n")
        cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=a new cable")
        (tmp_path / "low-n1").touch()
        (tmp_path / "low-n2").touch()
        both = ["n1|drain|a new cable", f"n2|drain|{REASON}"]
        assert until(lambda: sorted(reasons(cluster)) == both, 60.0), reasons(cluster)
        (tmp_path / "low-n1").unlink()
        (tmp_path / "low-n2").unlink()
        assert until(lambda: reasons(cluster) == both[:1], 60.0), reasons(cluster)
        assert cluster.run("srun", "-w", "n2", "hostname") == "n2\n"
