"""Does a stranger who reaches the port of a run change it? Each attack goes on as long as a real run does."""

import json
import secrets
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import extent
from benchmarks.startup import NCCLTOOL
from benchmarks.strangers import ATTACKS, Attack, Tap, Target, repeated

TRIALS = extent.of(20, 1)
_LIMIT_S = 120.0
_WHAT = ("--op", "all_reduce", "--sizes", "1KiB,64KiB", "-n", "3000", "--nproc-per-node", "1", "-q")
"""Long enough for a stranger to be slow in: after a second, its silence counts."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a run under attack."""

    codes: tuple[int, ...]
    """Of its commands."""
    document: dict[str, Any]
    """Of node 0."""

    @property
    def codes_of_findings(self) -> list[str]:
        """Without a hint that may come from a machine that is busy."""
        found = self.document.get("findings", [])
        return [f["code"] for f in found if f["severity"] != "info" or f["code"] == "strangers-refused"]

    @property
    def is_unharmed(self) -> bool:
        """All was measured and is right, and it is said that somebody was refused."""
        rows = [row["wrong"] for row in self.document.get("measurements", [])]
        return (*self.codes, rows, self.codes_of_findings) == (0, 0, [0, 0], ["strangers-refused"])


def main() -> bool:
    """Print a line for each attack; whether every run was unharmed."""
    good = []
    for name, attack in ATTACKS.items():
        begin = time.perf_counter()
        unharmed = sum(under(attack).is_unharmed for _ in range(TRIALS))
        seconds = (time.perf_counter() - begin) / TRIALS
        print(f"{name:45} {unharmed} of {TRIALS} refused, the run unharmed; {seconds:.1f} s", flush=True)
        good.append(unharmed == TRIALS)
    return all(good)


def under(attack: Attack) -> Outcome:
    """A run of two nodes on this host, while the attack goes on."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "secret"
        file.touch(mode=0o600)
        file.write_text(secrets.token_hex(32))
        with socket.create_server(("127.0.0.1", 0)) as free:
            target = Target(free.getsockname()[1], file.read_bytes())
        tap = Tap(target.port, target.tape)
        nodes = [_node(folder, file, 0, target.port), _node(folder, file, 1, tap.port)]
        is_over = threading.Event()
        stranger = threading.Thread(target=lambda: list(repeated(attack, target, is_over)))
        stranger.start()
        try:
            codes = tuple(node.wait(_LIMIT_S) for node in nodes)
        finally:
            is_over.set()
            for node in nodes:
                node.kill()
            tap.close()
            stranger.join()
        documents = list(Path(folder).glob("0/*/run.json"))
        return Outcome(codes, json.loads(documents[0].read_text()) if documents else {})


def _node(folder: str, secret_file: Path, number: int, port: int) -> subprocess.Popen[bytes]:
    place: Sequence[str] = ("--nodes", "2", "--node-rank", str(number), "--rdzv-endpoint", f"127.0.0.1:{port}")
    argv = (NCCLTOOL, "probe", *place, "--rdzv-secret-file", str(secret_file), *_WHAT)
    output = (Path(folder) / f"output-{number}").open("wb")
    with output:
        return subprocess.Popen(
            [*argv, "--run-dir", f"{folder}/{number}"], stdin=subprocess.DEVNULL, stdout=output, stderr=output
        )
