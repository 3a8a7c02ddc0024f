"""Does any input make a command fail in a way that nobody wrote down? Files, variables and options by seed.

scripts/bench fuzz --inputs 20000                  the inputs of seeds 1, 2, ...
scripts/bench fuzz --seed 117 --inputs 1 --show    one of them again, with what it is given and what it says
scripts/bench fuzz --only snapshot                 only inputs of this reader
"""

import argparse
import gc
import os
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import msgspec

from benchmarks import extent, fuzz_inputs, fuzz_samples, fuzz_trial
from benchmarks.fuzz_trial import FuzzInput, Outcome

_ROOT = Path(__file__).resolve().parents[2]
INPUTS = extent.of(20_000, 100)
_OF_SAMPLES = (
    *("tests.preflight.views.test_table", "tests.support.streams"),
    *("tests.train.test_checkpoints", "tests.train.test_judge", "tests.history.test_prometheus"),
    *("tests.report.materials", "tests.history.samples"),
)
_LATE = ("asyncio", "sqlite3", "yaml")
"""Libraries that commands import when they need them."""
_KEPT = 4000
"""Characters of what a command said that are shown of a failure."""


@dataclass(frozen=True, slots=True)
class Fuzzed:
    """What is kept of an input."""

    seed: int
    target: str
    wrong: str
    code: int
    seconds: float
    peak_bytes: int


def main(options: Sequence[str] = ()) -> bool:
    """Print each failure with its seed, then the sums; whether there was none."""
    sys.path.insert(0, str(_ROOT))
    asked = _asked(options)
    _load()
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=_fast()) as base:
        found = list(_all(asked, Path(base)))
    print("\n".join(_sums(found)))
    return not any(one.wrong for one in found)


def _asked(options: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("scripts/bench fuzz")
    parser.add_argument("--seed", type=int, default=1, help="of the first input; each has the next")
    parser.add_argument("--inputs", type=int, default=INPUTS)
    parser.add_argument("--only", default="", help=f"a reader: {', '.join(fuzz_inputs.TARGETS)}")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="show each input and what the command says")
    return parser.parse_args(options)


def _fast() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _load() -> None:
    """Import what commands import, without torch: each input is a fork of this process."""
    package = _ROOT / "nccltool"
    for file in sorted(package.rglob("*.py")):
        words = file.relative_to(package).with_suffix("").parts
        if words[0] not in ("worker", "__main__"):
            import_module(".".join(("nccltool", *(word for word in words if word != "__init__"))))
    for name in (*_OF_SAMPLES, *_LATE):
        import_module(name)
    gc.freeze()


def _all(asked: argparse.Namespace, base: Path) -> Iterator[Fuzzed]:
    """What workers, processes of their own, find. Each writes to a file, so that none waits for another."""
    workers: dict[int, Path] = {}
    for worker in range(asked.workers):
        found = base / f"{worker}.jsonl"
        workers[os.fork() or _work(asked, base / str(worker), worker, found)] = found
    for _ in range(asked.workers):
        process, status = os.wait()
        if status:
            for other in workers.keys() - {process}:
                with suppress(ProcessLookupError):
                    os.kill(other, signal.SIGTERM)
            raise SystemExit(f"a worker ended early, with status {os.waitstatus_to_exitcode(status)}")
        for line in workers[process].read_bytes().splitlines():
            yield msgspec.json.decode(line, type=Fuzzed)


def _work(asked: argparse.Namespace, folder: Path, worker: int, found: Path) -> NoReturn:
    status = 1
    try:
        folder.mkdir()
        fuzz_samples.stage(folder)
        with found.open("wb") as out:
            for seed in range(asked.seed + worker, asked.seed + asked.inputs, asked.workers):
                out.write(msgspec.json.encode(_one(seed, asked, folder)) + b"\n")
        status = 0
    except BaseException:  # noqa: BLE001 - a fork must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _one(seed: int, asked: argparse.Namespace, folder: Path) -> Fuzzed:
    one = fuzz_inputs.draw(seed, asked.only)
    outcome = fuzz_trial.run(one, folder)
    if outcome.wrong or asked.show:
        print(_told(seed, one, outcome), flush=True)
    fuzz_samples.refresh(folder)
    for name in one.files:
        if name.startswith("trees/"):
            fuzz_samples.restore(folder, name)
    return Fuzzed(seed, one.target, outcome.wrong, outcome.code, outcome.seconds, outcome.peak_bytes)


def _told(seed: int, one: FuzzInput, outcome: Outcome) -> str:
    """What is needed to see it again."""
    words = " ".join(ascii(word)[:200] for word in one.words)
    env = "".join(f" {name}={value[:100]!a}" for name, value in one.env.items())
    files = "".join(f"\n  {name}: {content[:300]!r}" for name, content in one.files.items())
    head = f"seed {seed} {one.target}: {outcome.wrong or 'ok'} ({outcome.code}, {outcome.seconds:.1f} s)"
    return f"{head}\n  nccltool {words}{env}{files}\n  -> {outcome.said[-_KEPT:]!a}"


def _sums(found: Sequence[Fuzzed]) -> Iterator[str]:
    """By target, in Markdown."""
    yield "| input | inputs | wrong | longest | most memory |"
    yield "|---|---|---|---|---|"
    counts = Counter(_kind(one) for one in found)
    for name in sorted(counts):
        yield _row(name, [one for one in found if _kind(one) == name])
    yield _row("all", found)


def _kind(one: Fuzzed) -> str:
    return "options" if one.target.startswith("options of") else one.target


def _row(name: str, found: Sequence[Fuzzed]) -> str:
    wrong = sum(bool(one.wrong) for one in found)
    longest = max((one.seconds for one in found), default=0.0)
    most = max((one.peak_bytes for one in found), default=0) >> 20
    return f"| {name} | {len(found)} | {wrong} | {longest:.1f} s | {most} MiB |"
