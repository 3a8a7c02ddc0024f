"""Starting commands as users do, in folders of their own, and seeing what they leave behind."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NCCLTOOL = (sys.executable, "-m", "nccltool")
PROBE = (*NCCLTOOL, "probe")
RUNS = (*NCCLTOOL, "runs")
TORCHRUN = (sys.executable, "-m", "torch.distributed.run")
MARK = "TEST_COMMAND_ID"
"""Every process inherits its environment, so this variable finds whatever a command started."""
GONE_WITHIN_S = 10.0
_OF_LAUNCHERS = ("NCCLTOOL_", "SLURM_", "OMPI_", "PMI_", "TORCHELASTIC_", "PET_", "GLOO_", "NCCL_", "XDG_")
_OF_RANKS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")

Event = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """What a command that has ended said and left."""

    code: int
    stdout: str
    stderr: str
    runs: Path
    temporary: Path

    @property
    def run(self) -> Path:
        """The folder of its only run."""
        (folder,) = self.runs.iterdir()
        return folder

    @property
    def document(self) -> dict[str, Any]:
        """run.json of its only run."""
        document: dict[str, Any] = json.loads((self.run / "run.json").read_text())
        return document

    @property
    def findings(self) -> dict[str, dict[str, Any]]:
        """The findings in run.json, by code."""
        return {finding["code"]: finding for finding in self.document["findings"]}

    @property
    def problems(self) -> list[dict[str, Any]]:
        """The findings that judge; what is for information may come from a machine that is busy (a dip)."""
        return [finding for finding in self.document["findings"] if finding["severity"] != "info"]

    @property
    def said(self) -> str:
        """Everything, for the message of an assertion."""
        return f"exit code {self.code}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"

    @property
    def litter(self) -> list[str]:
        """What lies where temporary files are made."""
        return sorted(str(path.relative_to(self.temporary)) for path in self.temporary.rglob("*"))


class Command:
    """A running command. Its output goes to files: a pipe could be held open by what it leaves behind."""

    def __init__(
        self,
        argv: Sequence[str],
        folder: Path,
        env: Mapping[str, str] | None = None,
        prefix: Sequence[str] = (),
    ) -> None:
        self.id = secrets.token_hex(8)
        self.folder = folder
        self.runs = folder / "runs"
        for name in ("cwd", "tmp", "home"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        with (folder / "stdout").open("wb") as out, (folder / "stderr").open("wb") as err:
            self.process = subprocess.Popen(
                [*prefix, *argv],
                cwd=folder / "cwd",
                env={**clean_environment(), **self._own(), **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    def _own(self) -> dict[str, str]:
        return {
            MARK: self.id,
            "TMPDIR": str(self.folder / "tmp"),
            "HOME": str(self.folder / "home"),
            "NCCLTOOL_RUN_DIR": str(self.runs),
            "OMP_NUM_THREADS": "1",
        }

    def __enter__(self) -> "Command":
        return self

    def __exit__(self, *_: object) -> None:
        for pid in self.living():
            _kill(pid)
        self.process.kill()
        self.process.wait()

    def wait(self, limit_s: float) -> Ended:
        """Its end, which must come within the limit."""
        try:
            code = self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"not done after {limit_s} s\n{self._ended(-999).said}") from None
        return self._ended(code)

    def _ended(self, code: int) -> Ended:
        return Ended(
            code=code,
            stdout=(self.folder / "stdout").read_text(),
            stderr=(self.folder / "stderr").read_text(),
            runs=self.runs,
            temporary=self.folder / "tmp",
        )

    def living(self) -> list[int]:
        """Processes that the command started, itself among them, zombies not."""
        return [pid for pid in _pids() if f"{MARK}={self.id}".encode() in _environment_of(pid)]

    def everything_gone(self) -> bool:
        """Whether no process is left; waits for those that are being killed."""
        return until(lambda: not self.living(), GONE_WITHIN_S)

    def events(self) -> list[Event]:
        """What its run directory holds so far."""
        lines = [line for file in self.runs.glob("*/events.jsonl") for line in file.read_text().splitlines(True)]
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def wait_for(self, kind: str, limit_s: float = 60.0, **fields: object) -> Event:
        """The first event of a kind with these values."""
        found: list[Event] = []

        def look() -> bool:
            over = self.process.poll() is not None
            wanted = {"event": kind, **fields}.items()
            found[:] = [event for event in self.events() if wanted <= event.items()]
            return bool(found) or over

        assert until(look, limit_s), f"no {kind} {fields} in {limit_s} s\n{self._ended(-999).said}"
        assert found, f"ended without {kind} {fields}\n{self._ended(-999).said}"
        return found[0]

    def send(self, number: signal.Signals) -> None:
        """A signal to the command itself."""
        self.process.send_signal(number)


def clean_environment() -> dict[str, str]:
    """Ours, without what a launcher or a user may have set."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(_OF_LAUNCHERS) and name not in _OF_RANKS
    }


def until(condition: Callable[[], bool], limit_s: float) -> bool:
    """Wait for a condition; whether it came true in time."""
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def parent_of(pid: int) -> int:
    """The parent of a process."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _environment_of(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it ended meanwhile
        return []


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
