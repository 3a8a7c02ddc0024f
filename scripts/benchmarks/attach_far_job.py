"""A job on several hosts, of a script that knows nothing of nccltool; and its way to the fault."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.attach_far_states import FarState
from benchmarks.attach_jobs import steps_in

SCRIPT = Path(__file__).with_name("attach_scripts") / "train.py"
STORE_PORT = 29500
_MARK = "ATTACH_TRIAL"
_LONGEST_START_S = 240.0


@dataclass(kw_only=True)
class FarJob:
    """Its ranks are numbered host by host."""

    state: FarState
    strategy: str
    launcher: str
    hosts: tuple[str, ...]
    per_host: int
    rank: int
    """The faulty one."""
    folder: Path
    id: str = field(default_factory=lambda: secrets.token_hex(4))
    commands: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def world(self) -> int:
        return len(self.hosts) * self.per_host

    @property
    def program(self) -> str:
        """The name of its script, which no other job has."""
        return f"train-{self.id}.py"

    def host_of(self, rank: int) -> str:
        return self.hosts[rank // self.per_host]

    def words(self) -> list[str]:
        """The script and its options."""
        one = self.state
        fault = ["--fault", one.fault, "--at", str(one.at)] if one.fault else []
        return [
            str(self.folder / self.program),
            self.strategy,
            "--dir",
            str(self.folder),
            "--rank",
            str(self.rank),
            *fault,
        ]

    def torchrun(self, node: str, master: str) -> list[str]:
        """The command of one host. `node`: its number, or a word of the shell."""
        options = ["--nnodes", str(len(self.hosts)), "--nproc-per-node", str(self.per_host)]
        options += ["--node-rank", node, "--master-addr", master, "--master-port", str(STORE_PORT)]
        return [sys.executable, "-m", "torch.distributed.run", *options, *self.words()]

    def variables(self, rank: int, master: str) -> dict[str, str]:
        """Of a rank that no launcher starts."""
        local = rank % self.per_host
        return {
            "RANK": str(rank),
            "WORLD_SIZE": str(self.world),
            "LOCAL_RANK": str(local),
            "LOCAL_WORLD_SIZE": str(self.per_host),
            "MASTER_ADDR": master,
            "MASTER_PORT": str(STORE_PORT),
        }

    def prepare(self) -> None:
        self.folder.mkdir(parents=True)
        self.folder.chmod(0o777)  # containers may have users of their own
        shutil.copy(SCRIPT, self.folder / self.program)
        if self.state.fifo:
            os.mkfifo(self.folder / self.state.fifo)
            (self.folder / self.state.fifo).chmod(0o666)

    def start(self, argv: Sequence[str], env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
        own = {_MARK: self.id, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "eth0"}
        with (self.folder / f"log.{len(self.commands)}").open("wb") as log:
            command = subprocess.Popen(
                argv,
                env={**os.environ, **own, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                cwd=self.folder,
            )
        self.commands.append(command)
        return command

    def end(self) -> None:
        """Every process of it, on every host."""
        for _ in range(3):
            for pid in self.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for command in self.commands:
            command.kill()
            command.wait(30)

    def pids(self) -> list[int]:
        mark = f"{_MARK}={self.id}".encode()
        return [pid for pid in _all() if mark in _environment(pid)]

    def of_rank(self, rank: int) -> int:
        """The pid of a rank, as this machine has it."""
        for pid in self.pids():
            with contextlib.suppress(OSError):
                name = Path(f"/proc/{pid}/comm").read_text().strip()
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                is_script = self.program.encode() in command and b"torch.distributed.run" not in command
                if f"RANK={rank}".encode() in _environment(pid) and is_script and name != "pt_data_worker":
                    return pid
        raise RuntimeError(f"rank {rank} is not there: {self.log()}")

    def agent(self) -> int:
        """torchrun of the first host, which has the store."""
        words = (b"torch.distributed.run", b"--node-rank\0000\0")
        for pid in self.pids():
            with contextlib.suppress(OSError):
                command = Path(f"/proc/{pid}/cmdline").read_bytes()
                if all(word in command for word in words) and b"nsenter" not in command:
                    return pid
        raise RuntimeError(f"no torchrun is there: {self.log()}")

    def log(self) -> str:
        """The end of what it printed."""
        return "".join(file.read_text(errors="replace")[-600:] for file in self.folder.glob("log.*"))

    def come_to_fault(self) -> None:
        """Wait until it has come to its fault."""
        one = self.state
        goal = one.at if one.fault and one.act == "none" else one.at + 5
        spread = one.fault == "loader"  # the next steps' data are loaded ahead
        self._until(lambda: len(steps := self._steps()) == self.world and max(steps) >= goal - 2 * spread)
        if spread:
            self._until(self._is_still)

    def _steps(self) -> list[int]:
        return steps_in(self.folder, self.world)

    def _is_still(self) -> bool:
        before = self._steps()
        time.sleep(2)
        return self._steps() == before

    def _until(self, done: Callable[[], bool]) -> None:
        end = time.monotonic() + _LONGEST_START_S
        while not done():
            if time.monotonic() > end or not self.pids():
                raise RuntimeError(f"the job did not come to its fault: {self._steps()} {self.log()}")
            time.sleep(0.2)


def _all() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _environment(pid: int) -> list[bytes]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return []
