"""Inputs by seed of readers of results: other programs' tables, pairs, reports, histories, and questions."""

import io
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from unittest import mock

from benchmarks import fuzz_mutations as mutations
from benchmarks import fuzz_samples
from benchmarks.fuzz_trial import FuzzInput

_TESTS = Path(__file__).resolve().parents[2] / "tests"
_NOW = 1.79e9
_FORMATS = ("table", "json", "csv", "junit", "ctrf", "sarif")
_TOPOLOGIES = (
    b"SwitchName=a Nodes=644,699,\\\n  632 LinkSpeed=4 # racks\nSwitchName=b Nodes=28[3-4],678\n"
    b"SwitchName=c Switches=a,b\n",
    b"- topology: default\n  tree:\n    switches:\n      - switch: a\n        nodes: 644,699\n"
    b"      - switch: b\n        nodes: 28[3-4],678\n      - switch: c\n        children: a,b\n",
    b"644 leaf1\n699 leaf1\n284 leaf2\n678 leaf2\n",
)
"""Of Slurm, as topology.conf and as topology.yaml, and of lines."""
_MATRIX = b"""\
START mpiGraph v1.5
MsgSize\t1048576
Times\t10
Window\t2
Procs\t3
n1:0 to\t0.0\t1000.0\t2000.0
n2:1 to\t3000.0\t0.0\t4000.0
n3:2 to\t5000.0\t6000.0\t0.0
END mpiGraph
"""
_COMMANDS = (
    "mpirun -np 16 -N 8 -H n1:8,n2:8 -x NCCL_DEBUG=INFO --mca btl tcp,self ./all_reduce_perf -b 8 -e 8G -f 2 -g 1",
    "srun -N2 --ntasks-per-node=8 --gpus-per-node 8 alltoall_perf --minbytes=1K --maxbytes 16M -i 1048576 -c 0",
    "NCCL_ALGO=Ring sendrecv_perf -t 2 -g 4 -n 100 -w 5 -d half -o sum -z 1 -G 2",
)


def other_results(random: Random) -> FuzzInput:
    """Of OSU, perftest, mpiGraph, SuperBench and others."""
    name, sample = random.choice(_foreign())
    more = random.choice(((), ("--op", "all_reduce"), ("--ranks", "8"), ("--format", random.choice(_FORMATS))))
    files = {name: mutations.data(sample, random)}
    return FuzzInput(target="other results", words=("import", name, *more), files=files)


def pairs(random: Random) -> FuzzInput:
    """Pairs as CSV, as a matrix, or as a run, and the topology of their nodes."""
    name, sample = random.choice(
        (("p.csv", _csv()), ("p.csv", _csv()), ("m.txt", _MATRIX), ("run.json", _pairs_run()))
    )
    topology = random.choice(_TOPOLOGIES)
    files = {name: mutations.data(sample, random), "good.csv": _csv(), "topology.conf": topology}
    if random.random() < 0.3:
        files |= {name: sample, "topology.conf": mutations.data(topology, random)}
    more = random.choice(
        (
            ("good.csv",),
            ("--topology", "topology.conf"),
            ("--topology", "topology.conf", "--write-exclude", "exclude.txt"),
            ("--expect", mutations.word(random, ("90GB/s", "400Gbit/s", "run.json"))),
            ("--plot", random.choice(("x.svg", "x.png"))),
            ("--format", random.choice(_FORMATS)),
        )
    )
    if random.random() < 0.1:
        return FuzzInput(target="pairs", words=("localize", "-"), stdin=files[name])
    return FuzzInput(target="pairs", words=("localize", name, *more), files=files)


def report(random: Random) -> FuzzInput:
    """A report of runs, or of the runs inside an earlier report."""
    if random.random() < 0.5:
        words, files = ("old.html",), {"old.html": mutations.data(random.choice(_reports()), random)}
    else:
        sample = random.choice((*fuzz_samples.documents(), _pairs_run()))
        words, files = (
            ("run.json", *random.choice(((), ("good.json",)))),
            {"run.json": mutations.data(sample, random)},
        )
    drawn = random.choice((("--output", "new.html"), ("--charts", "charts"))) if random.random() < 0.2 else ()
    form = drawn or random.choice(
        (("--format", "markdown"), ())
    )  # what is read is the same, and drawing takes long
    return FuzzInput(target="report", words=("report", *words, *form), files=files)


def history(random: Random) -> FuzzInput:
    """A history, one that is added to it, and runs that are."""
    kept, runs = (
        "state/nccltool/history.sqlite",
        ("run.json", random.choice((*fuzz_samples.documents(), _pairs_run()))),
    )
    name, sample = random.choice(((kept, _history()), ("other.sqlite", _history()), runs))
    files = {kept: _history()} if random.random() < 0.5 else {}
    files[name] = mutations.data(sample, random)
    words = random.choice(
        (
            (),
            ("n1", "--verbose"),
            ("all_reduce", "--since", "2020-01-01"),
            ("--format", random.choice(("json", "csv"))),
            ("import", name),
            ("prune", "--older-than", "30d"),
        )
    )
    return FuzzInput(
        target="history", words=("history", *(("import", name) if name != kept else words)), files=files
    )


def prometheus(random: Random) -> FuzzInput:
    """What a server answers that is taken for a Prometheus."""
    answers = [mutations.data(one, random) if random.random() < 0.6 else one for one in _recorded()]

    def ask() -> None:
        from nccltool.history import keeping
        from nccltool.history.prometheus import PrometheusServer

        with mock.patch("urllib.request.OpenerDirector.open", side_effect=map(io.BytesIO, answers * 10)):
            server = PrometheusServer(url="http://127.0.0.1:9090")
            keeping.take_in(Path("history.sqlite"), [server], _NOW, _NOW - 30 * 86400)

    return FuzzInput(target="Prometheus", call=ask)


def assistant(random: Random) -> FuzzInput:
    """What an assistant asks for; the commands that answer have inputs of their own."""
    first, second = (
        mutations.word(random, ("job.log", "latest", "folder", "good.json", "../x")) for _ in range(2)
    )

    def ask() -> None:
        from nccltool.interop.assistant_tools import AssistantTools

        tools = AssistantTools(allowed=(Path("folder"), Path("good.json")))
        random.choice(
            (tools.runs, lambda one: tools.triage([one, second]), lambda one: tools.compare(one, second))
        )(first)

    return FuzzInput(target="assistant", call=ask)


def nccl_tests(random: Random) -> FuzzInput:
    """Command lines of nccl-tests."""
    words = random.choice(_COMMANDS).split()
    for _ in range(random.choice((1, 1, 3))):
        place = random.randrange(len(words) + 1)
        words[place : place + random.randrange(2)] = [mutations.word(random, words)]
    return FuzzInput(target="nccl-tests", words=("nccl-tests", *words))


@cache
def _foreign() -> tuple[tuple[str, bytes], ...]:
    files = sorted((_TESTS / "interop/importers/foreign").iterdir())
    return tuple((file.name, file.read_bytes()[:50_000]) for file in files if file.is_file())


@cache
def _csv() -> bytes:
    from tests.support.pairs import ISSUE_106

    return ISSUE_106.encode()


@cache
def _pairs_run() -> bytes:
    from nccltool.localize import document
    from tests.report import materials

    return document.to_json(materials.pairs()).encode()


@cache
def _reports() -> tuple[bytes, ...]:
    from nccltool.report import html_data, page
    from tests.report import materials

    made = (page.of(materials.ALL[name]()).documents for name in ("pairs", "compared", "failed"))
    return tuple(f"<!doctype html>\n{html_data.block(one)}".encode() for one in made)


@cache
def _history() -> bytes:
    import sqlite3

    from tests.history import samples

    nights = (
        samples.night(at, {"n1": "pass", "n2": "fail" if at % 2 else "pass"}, busbw={"n1": 9e10 + at})
        for at in range(8)
    )
    with tempfile.TemporaryDirectory() as folder:
        file = samples.kept(Path(folder), *nights)
        db = sqlite3.connect(file)
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        return file.read_bytes()


@cache
def _recorded() -> tuple[bytes, bytes]:
    import msgspec

    from tests.history.test_prometheus import RECORDED

    one, two = (
        msgspec.json.encode({"status": "success", "data": {"resultType": "x", "result": RECORDED[kind]}})
        for kind in ("query_range", "query")
    )
    return one, two
