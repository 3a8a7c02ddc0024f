"""A real Slurm on the hosts of a laboratory: munged and slurmctld on the first one, slurmd on each.

Nothing of the machine's own Slurm or munge is used: keys, sockets, state and logs are in a folder of its own.
"""

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from tests.lab.lab import Host, Lab
from tests.support.commands import until

TOOLS = ("munged", "slurmctld", "slurmd", "srun", "salloc", "sbatch", "scancel", "squeue", "scontrol", "sinfo")
GPUS = 2
CPUS = 4
_CONFIG = """\
ClusterName=lab
MailProg=/bin/true
SlurmctldHost={first}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
KillWait={kill_wait_s}
InactiveLimit=0
SlurmctldTimeout=30
SlurmdTimeout=30
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
GresTypes=gpu
NodeName={nodes} CPUs={cpus} RealMemory=4000 Gres=gpu:{gpus} State=UNKNOWN
PartitionName=debug Nodes={nodes} Default=YES PriorityTier=1 PreemptMode=REQUEUE
PartitionName=scrap Nodes={nodes} PriorityTier=1 PreemptMode=CANCEL
PartitionName=urgent Nodes={nodes} PriorityTier=9 PreemptMode=OFF
"""
"""Twice the processors that there may be: nothing is bound, and jobs of two tasks a node fit everywhere."""


def missing() -> str:
    """Why there can be no Slurm here; empty when there can."""
    lacking = [tool for tool in TOOLS if _path(tool) is None]
    packages = "munge slurmctld slurmd slurm-client"
    return f"needs {', '.join(lacking)}: apt-get install {packages}" if lacking else ""


def _path(tool: str) -> str | None:
    return shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class Slurm:
    """The daemons, as long as this context lasts."""

    def __init__(self, lab: Lab, more: str = "", kill_wait_s: int = 2) -> None:
        self.lab, self.first = lab, lab.hosts[0]
        self._more = more  # lines of slurm.conf
        self._kill_wait_s = kill_wait_s
        # not the folder of a test: the path of a socket has 107 characters at most
        self.folder = Path(tempfile.mkdtemp(prefix="nclab-slurm-"))
        self.folder.chmod(0o755)  # munge's clients may be anybody
        self.env = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        """What commands need to find it."""
        self._daemons: list[tuple[Host, subprocess.Popen[bytes]]] = []
        self.slurmds: dict[str, subprocess.Popen[bytes]] = {}
        self._stack = ExitStack()

    def __enter__(self) -> "Slurm":
        try:
            self._come_up()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _come_up(self) -> None:
        self._configure()
        munge = [f"--{name}={self.folder}/munge{end}" for name, end in _MUNGE.items()]
        self._start(self.first, "munged", "--foreground", *munge)
        assert until((self.folder / "munge").exists, 20.0), self.logs()
        self._start(self.first, "slurmctld", "-D", "-c")
        for host in self.lab.hosts:
            self.start_slurmd(host)
        count = len(self.lab.hosts)
        assert until(lambda: self._idle() == count, 30.0), self.logs()
        for host in self.lab.hosts:
            host.services.update(host.pids())  # slurmctld has a helper

    def __exit__(self, *_: object) -> None:
        for host, daemon in self._daemons:
            daemon.kill()
            daemon.wait()
            host.services.discard(daemon.pid)
        self._stack.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *argv: str) -> str:
        """A short command of Slurm on the first host, to its end; its output."""
        return self.first.run("env", *(f"{name}={value}" for name, value in self.env.items()), *argv)

    def start_slurmd(self, host: Host) -> None:
        """Start the daemon of a host."""
        self.slurmds[host.name] = self._start(host, "slurmd", "-D", "-N", host.name)

    def jobs(self, *columns: str) -> list[list[str]]:
        """The queue, finished jobs included: these columns of `squeue -O`, a row for each job."""
        form = ",".join(f"{column}:64" for column in columns)
        return [line.split() for line in self.run("squeue", "-h", "-t", "all", "-O", form).splitlines()]

    def wait_until_idle(self) -> None:
        """Nodes that a cancelled job still holds are given back."""
        assert until(lambda: self._idle() == len(self.lab.hosts), 30.0), self.run("squeue") + self.logs()

    def logs(self) -> str:
        """What the daemons said, for the message of an assertion."""
        files = sorted(self.folder.glob("*.log"))
        return "\n".join(f"--- {file.name}\n{file.read_text()[-2000:]}" for file in files)

    def _configure(self) -> None:
        names = [host.name for host in self.lab.hosts]
        settings: Mapping[str, object] = {"first": names[0], "nodes": f"n[1-{len(names)}]"}
        text = _CONFIG.format(folder=self.folder, cpus=CPUS, gpus=GPUS, kill_wait_s=self._kill_wait_s, **settings)
        (self.folder / "slurm.conf").write_text(text + self._more)
        # files that only exist: they are counted and numbered, and nothing is opened
        devices = [self.folder / f"gpu{number}" for number in range(GPUS)]
        for device in devices:
            device.touch()
        (self.folder / "gres.conf").write_text("".join(f"Name=gpu File={device}\n" for device in devices))
        # the plugin for version 2 looks for its mount in /sys, which `ip netns exec` mounts anew
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n")
        for name in ("state", *(f"spool-{host}" for host in names)):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)

    def _start(self, host: Host, tool: str, *words: str) -> subprocess.Popen[bytes]:
        log = self._stack.enter_context((self.folder / f"{tool}-{host.name}-output.log").open("ab"))
        argv: Sequence[str] = (*host.inside, _path(tool) or tool, *words)
        env = {**os.environ, **self.env}
        daemon = subprocess.Popen(
            argv, env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        self._daemons.append((host, daemon))
        host.services.add(daemon.pid)
        return daemon

    def _idle(self) -> int:
        try:
            states = self.run("sinfo", "-h", "-N", "-p", "debug", "-o", "%T").split()
        except subprocess.CalledProcessError:  # slurmctld does not listen yet
            return 0
        return states.count("idle")


_MUNGE = {"socket": "", "key-file": ".key", "log-file": ".log", "pid-file": ".pid", "seed-file": ".seed"}
