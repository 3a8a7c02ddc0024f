"""What ranks train with: synthetic tokens, or sequences of files, which each rank draws by itself, timed."""

import contextlib
import hashlib
import os
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from nccltool.core.findings import Subject
from nccltool.train.events import MOST_SHOWN, InputDealt, InputWrong
from nccltool.train.finding_kinds import INPUT_LEAKS, INPUT_UNUSABLE
from nccltool.train.input_files import NoInput
from nccltool.train.input_order import InputPlan, ShardError
from nccltool.worker.train.input import Input, InputFailed, InputWait, LoaderSettings
from nccltool.worker.train.strategies.base import Setup, Strategy
from nccltool.worker.train.token_files import TokenFiles

_PREFIX = 7
"""Bytes of a digest that fit a number that ranks can exchange."""
LOADING = "loading input"
_TIMEOUT_S = 20.0
"""For a batch: less than the 30 s without progress after which the runner would end the run (--timeout)."""
_LONGEST_TEMPORARY = 107 - len("/pymp-12345678/listener-12345678")
"""Bytes of TMPDIR: the path of a socket has at most 107 (unix(7)), and multiprocessing adds the rest."""


class FileFeed:
    """Sequences of files for one strategy. Every method is called by all ranks together."""

    def __init__(self, files: TokenFiles, strategy: Strategy) -> None:
        setup = strategy.setup
        self.files = _digest(files.description).hex()
        self._setup, self._tokens = setup, files
        self._replica, self._replicas = strategy.replica, strategy.replicas
        plan = InputPlan(sequences=len(files), ranks=self._replicas, batch=setup.sequences // self._replicas)
        self._plan, self._drawn = plan, 0
        settings = LoaderSettings(
            workers=setup.spec.data_workers, pinned=setup.device.type == "cuda", timeout_s=_TIMEOUT_S
        )
        self._input = Input(files, plan, self._replica, setup.spec.seed, settings)

    def whole(self, number: int) -> Tensor:
        """The global batch of a step, in the order of the replicas, as the plan has it: for the reference."""
        epoch, inside = self._plan.place(number)
        order = self._input.order(epoch)
        dealt = (one for part in range(self._replicas) for one in self._plan.dealt(order, part, inside))
        return torch.stack([self._tokens[one][1] for one in dealt]).to(self._setup.device)

    def draw(self) -> tuple[Tensor, InputWait]:
        """(a global batch that has this rank's part alone, as its loader gave it, how long it waited for it).
        Raises InputFailed."""
        setup, plan = self._setup, self._plan
        setup.computing(LOADING)
        self._drawn += 1
        begin = time.perf_counter_ns()
        setup.tools.injector.at("input", setup.name, step=self._drawn)
        injected_ns = time.perf_counter_ns() - begin
        drawn = self._input.draw()
        if (wrong := self._input.check(drawn)) is not None:
            self._report_wrong(wrong)
        tokens = torch.zeros(setup.sequences, setup.spec.context + 1, dtype=torch.long)
        first = self._replica * plan.batch
        tokens[first : first + len(drawn.tokens)] = drawn.tokens
        stalled_ns = drawn.waited.stalled_ns
        waited = InputWait(
            ns=injected_ns + drawn.waited.ns,
            stalled_ns=None if stalled_ns is None else injected_ns + stalled_ns,
        )
        return tokens.to(setup.device), waited

    def _report_wrong(self, wrong: ShardError) -> None:
        setup = self._setup
        setup.channel.emit(
            InputWrong(
                strategy=setup.name,
                rank=setup.rank,
                number=self._drawn,
                what=wrong.what,
                got=wrong.got[:MOST_SHOWN],
                expected=wrong.expected[:MOST_SHOWN],
            )
        )

    def report(self) -> None:
        """Rank 0: how the sequences are dealt out."""
        plan, setup = self._plan, self._setup
        if setup.rank == 0:
            setup.channel.emit(
                InputDealt(
                    strategy=setup.name,
                    sequences=plan.sequences,
                    epoch_steps=plan.steps,
                    left_out=plan.left_out,
                )
            )

    def end(self) -> None:
        """After the last step: say which process leaks descriptors."""
        setup = self._setup
        for leak in self._input.leaks():
            setup.channel.report(
                INPUT_LEAKS.finding(
                    subject=Subject(kind="rank", name=str(setup.rank)),
                    message=f"{setup.name}: {leak.who} on {socket.gethostname()} leaks file descriptors:"
                    f" {leak.before} became {leak.after} in {leak.batches} batches",
                    remedy="see what stays open there: ls -l /proc/PID/fd",
                )
            )

    @contextlib.contextmanager
    def naming_dead_workers(self) -> Iterator[None]:
        """Raises InputFailed: torch's handler of SIGCHLD raises its error wherever the rank is by then."""
        try:
            yield
        except RuntimeError as error:
            if died := self._input.died():
                raise InputFailed(died) from error
            raise

    def skip(self, steps: int) -> None:
        """Steps that a checkpoint has already."""
        self._input.skip(steps)
        self._drawn = steps


def feed(strategy: Strategy) -> bool:
    """Let a strategy have the files that were asked for; False = a rank cannot read them, or reads others, which
    has been reported."""
    setup = strategy.setup
    if not setup.spec.data:
        return True
    setup.slot.phase("looking for input")
    files, reason = None, ""
    try:
        files = TokenFiles(Path(setup.spec.data), setup.spec.context)
    except NoInput as error:
        reason = str(error)
    except OSError as error:
        reason = f"{error.filename or setup.spec.data} cannot be read: {error.strerror or error}"
    mine = int.from_bytes(_digest(files.description)) if files else -1
    first = setup.group.from_rank_0(max(mine, 0))
    if files is not None and mine != first:
        reason = f"{setup.spec.data} has other files than on rank 0"
    elif files is not None and len(files) < setup.sequences:
        length = setup.spec.context + 1
        reason = (
            f"{setup.spec.data} has {len(files)} sequences of {length} tokens, and a step needs {setup.sequences}"
        )
    temporary = tempfile.gettempdir()
    if reason:
        _report(setup, reason, "name a folder with enough files, the same on all hosts")
    elif setup.spec.data_workers and len(os.fsencode(temporary)) > _LONGEST_TEMPORARY:
        # torch would wait for its workers without an error
        reason = f"TMPDIR is too long for the sockets of --data-workers: {temporary}"
        _report(setup, reason, "choose a shorter TMPDIR")
    if setup.group.maximum([bool(reason)])[0] or files is None:
        return False
    setup.feed = FileFeed(files, strategy)
    setup.feed.report()
    return True


def _digest(description: tuple[tuple[str, int], ...]) -> bytes:
    return hashlib.sha256(repr(description).encode(errors="surrogateescape")).digest()[:_PREFIX]


def _report(setup: Setup, reason: str, remedy: str) -> None:
    setup.channel.report(
        INPUT_UNUSABLE.finding(
            subject=Subject(kind="rank", name=str(setup.rank)),
            message=f"rank {setup.rank} on {socket.gethostname()} cannot train with --data: {reason}",
            remedy=remedy,
        )
    )
