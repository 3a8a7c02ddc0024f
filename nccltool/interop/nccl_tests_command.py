"""A command line of nccl-tests in the words of `nccltool probe`: pure, nothing is run.

The options are those of nccl-tests 2.19.6 (src/common.cu), which reads them with getopt_long: the last of several
counts, and long names may be shortened.
"""

import getopt
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from nccltool.core.errors import BadInput
from nccltool.core.text import listed, shortened
from nccltool.probe import collectives, nccl_tests

_SAME = {
    "b": "minbytes",
    "e": "maxbytes",
    "i": "stepbytes",
    "f": "stepfactor",
    "n": "iters",
    "w": "warmup_iters",
    "c": "check",
    "o": "op",
    "d": "datatype",
}
"""Letters that mean the same in probe, with their long names in nccl-tests."""


@dataclass(frozen=True, slots=True)
class _Other:
    """An option that probe does not have under this name."""

    long: str
    here: str
    """What probe does, or has, instead."""
    remedy: str = "omit it"
    same: tuple[str, ...] = ("0",)
    """Values with which nccl-tests does what probe does."""


_A_RANK = "each rank is a process with one GPU"
_OTHERS = {
    "t": _Other("nthreads", _A_RANK, "omit it under mpirun or srun; elsewhere, use --nproc-per-node"),
    "g": _Other("ngpus", _A_RANK, "omit it under mpirun or srun; elsewhere, use --nproc-per-node"),
    "r": _Other("root", "the root is rank 0"),
    "m": _Other("agg_iters", "calls are not grouped", same=("1",)),
    "N": _Other("run_cycles", "a run measures each size once", "--loop INTERVAL repeats the run", same=("1",)),
    "a": _Other("average", "the time is that of the slowest rank, as with -a 3", same=("3",)),
    "I": _Other("per_iter_timing", "each iteration is timed anyway", "--format json has the distribution"),
    "K": _Other("per_iter_skip", "no iteration is left out of the statistics"),
    "p": _Other("parallel_init", "ranks always initialize in parallel", same=("0", "1")),
    "z": _Other(
        "blocking", "the ranks synchronize outside the time, as with -z 3", "--cadence isolated", ("0", "3")
    ),
    "y": _Other("stream_null", "calls do not use the null stream"),
    "G": _Other("cudagraph", "a graph has one call and is replayed -n times", "--cuda-graph"),
    "C": _Other("report_cputime", "CPU time is not measured"),
    "R": _Other("local_register", "buffers are not registered"),
    "x": _Other("cta_policy", "NCCL chooses the CTA policy", same=()),
    "D": _Other("device_implementation", "kernels of the device API are not run"),
    "V": _Other("device_cta_count", "kernels of the device API are not run", same=("16",)),
    "S": _Other("report_timestamps", "rows have no timestamps"),
    "J": _Other("output_file", "one run prints one format", "--format nccl-tests-json --output FILE", same=()),
    "T": _Other("timeout", "time counts from the last progress", "--timeout SECONDS", same=()),
    "M": _Other("memory", "memory is not reported"),
    "u": _Other("unalign", "buffers are aligned"),
}
_LONG = {name: letter for letter, name in _SAME.items()} | {other.long: key for key, other in _OTHERS.items()}
_PROGRAM = re.compile(r"(?:.*/)?\w+_perf\w*", re.ASCII)
_LAUNCHERS = ("mpirun", "mpiexec", "mpiexec.hydra", "orterun", "prun", "prterun", "srun", "torchrun")


CUDA_GRAPH = "--cuda-graph"


@dataclass(frozen=True, slots=True)
class Translation:
    """What does the same."""

    before: tuple[str, ...]
    """What stood before the program: a launcher, variables."""
    options: tuple[str, ...]
    """Those of probe."""
    differences: tuple[str, ...]
    """What probe does otherwise, one option each."""

    @property
    def words(self) -> tuple[str, ...]:
        """The whole command."""
        return (*self.before, "nccltool", "probe", *self.options)


def refusal(name: str) -> BadInput | None:
    """The error for an option of nccl-tests that probe does not have; None = nccl-tests has none either."""
    letter = _LONG.get(name.removeprefix("--"), name.removeprefix("-"))
    if letter in _SAME:
        return BadInput(f"{name} is an option of nccl-tests", f"use -{letter}")
    if letter not in _OTHERS:
        return None
    other = _OTHERS[letter]
    return BadInput(f"{name} is an option of nccl-tests; in nccltool, {other.here}", other.remedy)


def translate(words: Sequence[str]) -> Translation:
    """The command of probe that does what a command of nccl-tests does. Raises BadInput."""
    if strange := next((word for word in words if not word.isprintable()), None):
        raise BadInput(
            f"{shortened(strange, 80)!r} has a character that cannot be printed",
            "type that word of the command again",
        )
    at = next((index for index, word in enumerate(words) if _PROGRAM.fullmatch(word)), None)
    if at is None:
        raise BadInput(
            "no program of nccl-tests in the command", "nccltool nccl-tests all_reduce_perf -b 8 -e 128M"
        )
    op = nccl_tests.operation(words[at])
    if op is None:
        known = [nccl_tests.program(name) for name in collectives.NAMES if name != "ping_pong"]
        raise BadInput(f"probe has no operation for {shortened(words[at], 80)}", f"choose from {listed(known)}")
    given = _given(words[at + 1 :])
    if "h" in given:
        raise BadInput(f"{words[at]} -h measures nothing", "nccltool probe --help")
    options = (*_ranks(words[:at], given), *_sizes(given), *_what(op, given), *_how(given), *_output(given))
    return Translation(tuple(words[:at]), ("--op", op, *options), tuple(_differences(given)))


def _given(words: Sequence[str]) -> dict[str, str]:
    """The values by letter."""
    short = "".join(f"{letter}:" for letter in _LONG.values()) + "h"
    try:
        pairs, rest = getopt.gnu_getopt(list(words), short, [*(f"{name}=" for name in _LONG), "help"])
    except getopt.GetoptError as error:
        raise BadInput(f"nccl-tests: {error.msg}", "expected the options of nccl-tests 2.19") from error
    if rest:
        raise BadInput(
            f"unexpected {shortened(rest[0], 80)!r}", "pass one command of nccl-tests, without redirections"
        )
    names = _LONG | {"help": "h"}
    return {names.get(name.removeprefix("--"), name.removeprefix("-")): value for name, value in pairs}


def _ranks(before: Sequence[str], given: Mapping[str, str]) -> Iterator[str]:
    """Of one host, the ranks; a launcher starts as many processes as it is told."""
    ranks = _count("g", given) * _count("t", given)
    launcher = next((name for word in before if (name := PurePath(word).name) in _LAUNCHERS), None)
    if launcher is None:
        yield from ("--nproc-per-node", str(ranks))
    elif ranks > 1:
        raise BadInput(
            f"-g and -t ask for {ranks} GPUs per process; under {launcher}, {_A_RANK}",
            f"start {ranks} times as many processes, and omit -g and -t",
        )


def _count(letter: str, given: Mapping[str, str]) -> int:
    text = given.get(letter, "1")
    if not re.fullmatch(r"[1-9]\d{0,5}", text, re.ASCII):
        raise BadInput(f"-{letter} {shortened(text, 80)}: expected a whole number of at least 1", f"-{letter} 1")
    return int(text)


def _sizes(given: Mapping[str, str]) -> Iterator[str]:
    first, last = given.get("b", "32M"), given.get("e", "32M")
    yield from ("-b", first, "-e", last)
    if given.get("f", "1") != "1":
        yield from ("-f", given["f"])
    elif first != last:
        yield from ("-i", given.get("i", "1M"))


def _what(op: str, given: Mapping[str, str]) -> Iterator[str]:
    if "d" in given:
        yield from ("-d", given["d"])
    if "o" in given and collectives.get(op).reduces:
        yield from ("-o", given["o"])
    if given.get("c", "1") != "1":
        yield from ("-c", given["c"])


def _how(given: Mapping[str, str]) -> Iterator[str]:
    yield from ("-n", given.get("n", "20"), "-w", given.get("w", "1"))
    isolated, graph = (given.get(letter, "0") != "0" for letter in "zG")
    if isolated and graph:
        raise BadInput("-z and -G: probe cannot combine them", "omit one of them")
    if isolated:
        yield from ("--cadence", "isolated")
    if graph:
        yield CUDA_GRAPH
    if "T" in given:
        yield from ("--timeout", given["T"])


def _output(given: Mapping[str, str]) -> Iterator[str]:
    if "J" in given:
        yield from ("--format", "nccl-tests-json", "--output", given["J"])
    else:
        yield from ("--format", "nccl-tests")


def _differences(given: Mapping[str, str]) -> Iterator[str]:
    for letter, value in given.items():
        other = _OTHERS.get(letter)
        if other and letter not in "gt" and value not in other.same:
            yield f"-{letter} {shortened(value, 80)}".rstrip() + f": {other.here}"
