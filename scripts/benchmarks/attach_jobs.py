"""Jobs of a script that knows nothing of nccltool, started by torchrun, and put into a state from outside."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from benchmarks.attach_states import Scenario
from tests.lab.lab import Host, Lab

SCRIPT = Path(__file__).with_name("attach_scripts") / "train.py"
_CGROUPS = Path("/sys/fs/cgroup")
_LONGEST_START_S = 180.0
_STORM = """\
import importlib, pathlib, sys
here = pathlib.Path(__file__).parent
for number in range(1_000_000):
    name = f"part{number % 200}"
    sys.modules.pop(f"storm.{name}", None)
    importlib.import_module(f"storm.{name}")
"""


def steps_in(folder: Path, ranks: int) -> list[int]:
    """How far each rank is whose step can be read."""
    found = []
    for rank in range(ranks):
        with contextlib.suppress(OSError, ValueError, IndexError):
            found.append(int((folder / f"step.{rank}").read_text().split()[0]))
    return found


class Job:
    """One job: its launcher, its ranks, and what was done to it."""

    def __init__(self, scenario: Scenario, strategy: str, ranks: int, rank: int, folder: Path) -> None:
        self.scenario, self.strategy, self.ranks, self.rank, self.folder = scenario, strategy, ranks, rank, folder
        self.commands: list[subprocess.Popen[bytes]] = []
        self.undo: list[contextlib.AbstractContextManager[object]] = []
        self.opened: list[int] = []
        self.stop = threading.Event()
        self.lab: Lab | None = None

    def __enter__(self) -> "Job":
        self.folder.mkdir(parents=True)
        for name in self.scenario.fifos:
            os.mkfifo(self.folder / name)
        if (disk := self.folder / "disk").exists():
            self.opened.append(
                os.open(disk, os.O_RDWR)
            )  # a disk that takes 64 KiB, and no more until it is drained
        if self.scenario.act == "storm":
            _storm(self.folder / "storm")
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop.set()
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for one in self.undo:
            one.__exit__(None, None, None)
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for command in self.commands:
            command.kill()
            command.wait(30)
        for number in self.opened:
            os.close(number)
        if self.lab is not None:
            self.lab.__exit__()

    def _start(self) -> None:
        act = self.scenario.act
        if act == "kill":
            self._without_launcher()
        elif act == "drop":
            self._on_two_hosts()
        else:
            self._torchrun(["--standalone", "--nproc-per-node", str(self.ranks)], ())

    def _torchrun(self, options: list[str], prefix: tuple[str, ...]) -> None:
        argv = [*prefix, sys.executable, "-m", "torch.distributed.run", *options, *self._script()]
        cold = {"TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor"), "OMP_NUM_THREADS": "1"}
        self._popen(argv, os.environ | cold)

    def _script(self) -> list[str]:
        one = self.scenario
        fault = ["--fault", one.fault] if one.fault else []
        return [str(SCRIPT), self.strategy, "--dir", str(self.folder), "--rank", str(self.rank), *fault, *one.more]

    def _popen(self, argv: list[str], env: dict[str, str]) -> None:
        log: IO[bytes]
        with (self.folder / f"log.{len(self.commands)}").open("wb") as log:
            self.commands.append(
                subprocess.Popen(argv, env=env, stdout=log, stderr=log, start_new_session=True, cwd=self.folder)
            )

    def _without_launcher(self) -> None:
        """As under a scheduler that does not kill the others when a rank ends."""
        port = random.randrange(20_000, 30_000)
        for rank in range(self.ranks):
            own = {
                "RANK": rank,
                "LOCAL_RANK": rank,
                "WORLD_SIZE": self.ranks,
                "LOCAL_WORLD_SIZE": self.ranks,
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": port,
                "OMP_NUM_THREADS": 1,
            }
            env = os.environ | {name: str(value) for name, value in own.items()}
            self._popen([sys.executable, *self._script()], env)

    def _on_two_hosts(self) -> None:
        self.lab = Lab(2)
        self.lab.__enter__()
        first = self.lab.hosts[0]
        for number, host in enumerate(self.lab.hosts):
            options = ["--nnodes", "2", "--nproc-per-node", str(self.ranks // 2), "--node-rank", str(number)]
            options += ["--master-addr", first.address, "--master-port", "29500"]
            self._torchrun(options, ("env", "GLOO_SOCKET_IFNAME=eth0", *host.inside))

    @property
    def alive(self) -> "subprocess.Popen[bytes]":
        """A command of the job that was not killed."""
        return next(command for command in self.commands if command.poll() is None)

    def pids(self) -> list[int]:
        """All processes below the commands, outermost first."""
        found = [command.pid for command in self.commands if command.poll() is None]
        for pid in found:
            found += _children(pid)
        return found

    def of_rank(self, rank: int) -> int:
        """The pid of a rank."""
        for pid in self.pids():
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
                comm = Path(f"/proc/{pid}/comm").read_text().strip()
                if b"RANK=%d" % rank in words and comm != "pt_data_worker":
                    return pid
        raise RuntimeError(f"rank {rank} is not there: {self.log()}")

    def log(self) -> str:
        """The end of what the job printed."""
        return "".join(file.read_text(errors="replace")[-600:] for file in self.folder.glob("log.*"))

    def steps(self) -> list[int]:
        return steps_in(self.folder, self.ranks)

    def spoil(self) -> None:
        """Wait until the job has come to its fault, and do what the scenario does from outside."""
        one = self.scenario
        if one.act == "early":
            self._until(lambda: len(self.pids()) > self.ranks)
            time.sleep(random.uniform(0.5, 3))
            return
        at = int(one.more[one.more.index("--at") + 1]) if "--at" in one.more else 5
        goal = 9 if one.fault == "ending" else at + 5 if not one.fault or one.act in ("kill", "stop-agent") else at
        spread = one.fault in ("loader", "loader-main")  # the next steps' data are loaded ahead
        self._until(lambda: len(self.steps()) == self.ranks and max(self.steps()) >= goal - 2 * spread)
        if spread:
            self._until(self._is_still)
        self._act()

    @contextlib.contextmanager
    def put_into(self, scenario: Scenario, rank: int) -> Iterator[None]:
        """A state that is undone at the end, when the job has gone on."""
        self.scenario, self.rank = scenario, rank
        self._act()
        yield
        if scenario.act == "stop":
            os.kill(self.of_rank(rank), signal.SIGCONT)
        while self.undo:
            self.undo.pop().__exit__(None, None, None)
        goal = max(self.steps()) + 5
        self._until(lambda: len(self.steps()) == self.ranks and min(self.steps()) >= goal)

    def _is_still(self) -> bool:
        before = self.steps()
        time.sleep(2)
        return self.steps() == before

    def _until(self, done: "object") -> None:
        assert callable(done)
        end = time.monotonic() + _LONGEST_START_S
        while not done():
            if time.monotonic() > end or not self.pids():
                raise RuntimeError(f"the job did not come to its fault: {self.steps()} {self.log()}")
            time.sleep(0.1)

    def _act(self) -> None:
        act = self.scenario.act
        if act == "kill":
            os.kill(self.of_rank(self.rank), signal.SIGKILL)
        elif act == "stop":
            os.kill(self.of_rank(self.rank), signal.SIGSTOP)
        elif act == "stop-agent":
            os.kill(self.commands[0].pid, signal.SIGSTOP)
        elif act == "drain":
            threading.Thread(target=self._drain, daemon=True).start()
        elif act == "drop" and self.lab:
            _drop(self.lab.hosts[1])
        elif act in ("freeze-v1", "freeze-v2", "starve"):
            group = _group(act, self.of_rank(self.rank))
            group.__enter__()
            self.undo.append(group)

    def _drain(self) -> None:
        """A disk of 0.3 MB/s."""
        while not self.stop.wait(0.1):
            with contextlib.suppress(BlockingIOError):
                os.read(self.opened[0], 30_000)


def _children(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += [int(one) for one in (thread / "children").read_text().split()]
    return found


def _drop(host: Host) -> None:
    """All but the store's port, both ways."""
    host.run("nft", "add", "table", "inet", "f")
    for hook in ("input", "output"):
        host.run("nft", "add", "chain", "inet", "f", hook, f"{{ type filter hook {hook} priority 0; }}")
        rule = ("meta", "l4proto", "tcp", "tcp", "sport", "!=", "29500", "tcp", "dport", "!=", "29500", "drop")
        host.run("nft", "add", "rule", "inet", "f", hook, *rule)


def _storm(folder: Path) -> None:
    """A package whose import never ends."""
    folder.mkdir()
    for number in range(200):
        (folder / f"part{number}.py").write_text("import json.decoder\nTABLE = {n: str(n) for n in range(2000)}\n")
    (folder / "__init__.py").write_text(_STORM)


@contextlib.contextmanager
def _group(act: str, pid: int) -> Iterator[None]:
    """A cgroup of its own for one rank, frozen or with a hundredth of a core."""
    root = {"freeze-v1": _CGROUPS / "freezer", "freeze-v2": _CGROUPS / "unified", "starve": _CGROUPS / "cpu"}[act]
    group = root / f"nccltool-bench-{os.getpid()}-{pid}"
    group.mkdir()
    try:
        (group / "cgroup.procs").write_text(str(pid))
        if act == "freeze-v1":
            (group / "freezer.state").write_text("FROZEN")
        elif act == "freeze-v2":
            (group / "cgroup.freeze").write_text("1")
        else:
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text("1000")  # less than its share on a busy host
        yield
    finally:
        if act == "freeze-v1":
            (group / "freezer.state").write_text("THAWED")
        elif act == "freeze-v2":
            (group / "cgroup.freeze").write_text("0")
        with contextlib.suppress(OSError):
            (root / "cgroup.procs").write_text(str(pid))
        for _ in range(50):
            with contextlib.suppress(OSError):
                group.rmdir()
                break
            time.sleep(0.1)
