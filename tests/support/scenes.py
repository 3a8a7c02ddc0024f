"""The commands whose screens docs/screens shows: real runs here, with emulated nodes and injected faults."""

import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.incidents import LOGS
from tests.support import terminal
from tests.support.terminal import Screen


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """A command that is shown."""

    name: str
    words: str
    verdict: str
    """How the first line of its result begins."""
    env: Mapping[str, str] = field(default_factory=dict)
    log: str = ""
    """The incident whose log is in job.log."""

    def __str__(self) -> str:
        return self.name

    @property
    def prompt(self) -> str:
        given = "".join(f"{name}={shlex.quote(value)} " for name, value in self.env.items())
        return f"$ {given}nccltool {self.words}"


SCENES = (
    Scene(name="probe", words="probe --nodes 2 --op all_reduce,all_gather", verdict="PASS all_reduce"),
    Scene(name="preflight-pass", words="preflight --nodes 2 --skip doctor", verdict="PASS preflight"),
    Scene(
        name="preflight-fail",
        words="preflight --nodes 2",
        env={"NCCLTOOL_FAULT": "corrupt:rank=1"},
        verdict="FAIL preflight",
    ),
    Scene(
        name="doctor",
        words="doctor",
        env={"NCCL_SOCKET_IFNAME": "eth7", "NCCL_ALGO": "Rign", "NCCL_BUFFSIZE": "4M"},
        verdict="FAIL doctor",
    ),
    Scene(name="triage", words="triage job.log", log="flap-in-mid-run", verdict="FAIL triage"),
    Scene(name="train", words="train ddp,fsdp --nodes 2", verdict="PASS train"),
)


def play(scene: Scene, columns: int, height: int, folder: Path, env: Mapping[str, str]) -> Screen:
    if scene.log:
        (folder / "job.log").write_text(LOGS[scene.log])
    program = Path(sys.executable).parent / "nccltool"
    words = [str(program), *shlex.split(scene.words)]
    given = {"XDG_STATE_HOME": str(folder / "state"), **scene.env, **env}
    return terminal.played(words, columns, height, folder, given, scene.prompt)
