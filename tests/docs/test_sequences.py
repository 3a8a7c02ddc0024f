"""What a page tells people to type works in the order of the page: every shell block, in one folder.

Blocks that show what is printed are played by test_examples. Hosts are replaced by emulated nodes, and what
would take long by something shorter (INSTEAD). What a test machine lacks is not played, and why (NOT_PLAYED).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.examples import SHIPPED, examples, run_line
from tests.docs.pages import PAGES, README, ROOT

QUICKSTART = ROOT / "docs/quickstart.md"

INSTEAD = (
    (r"\bscripts/nccltool\b", "nccltool"),
    (r"/opt/nccltool/bin/|/var/lib/node_exporter/", ""),
    (r"^\d+ \d+ \* \* \* ", ""),  # when, in a line of scrontab
    (r" --hosts '?[\w\[\],-]+'?", " --nodes 2"),  # nodes of this host
    (r"--nodes 64\b", "--nodes 2"),
    (r"--nproc-per-node 8\b", "--nproc-per-node 2"),
    (r"--suite (nightly|acceptance)\b", "--suite smoke"),
    (r"^nccltool pairs --nodes 2\b", "nccltool pairs --nodes 3"),  # two have nobody to be compared with
    (r"^nccltool preflight --nodes 2$", "nccltool preflight --suite smoke --nodes 2"),
    (r"\b1GiB\b", "512KiB"),
    (r"\b(64MiB|16MiB)\b", "256KiB"),
    (r"\b8MiB\b", "128KiB"),
    (r"-b 1M -e 1G\b", "-e 256K"),
    (r"-e (64M|128M)\b", "-e 256K"),
    (r" --keep-going\b", ""),  # of hosts
    (
        r"^((?!.*(?:--sizes|-e |salloc)).*nccltool probe\b.*)$",
        r"\1 --sizes 1KiB --budget 0.05",
    ),  # all sizes: minutes
    (r"--loop 10min --serve :9779", "--loop 5s --serve 127.0.0.1:0"),
    (r"--for 900\b", "--for 1"),
    (r"^nccltool (serve\b.*?|probe .*--loop.*?)( &)?$", r"timeout -s INT 4 nccltool \1"),  # until somebody ends it
    (r"^(timeout .*nccltool serve)$", r"\1 --listen 127.0.0.1:0"),
    (r"\| sbatch$", "> job.sh; bash -n job.sh"),
    (
        r"^mpirun -np 16 all_reduce_perf .*$",
        'cp "$SHIPPED"/../../interop/importers/samples/all_reduce-2.19.6.txt out.txt',
    ),
)
"""What is typed, and what is played in its place: the same command on emulated nodes, at small sizes."""

NOT_PLAYED = {
    r"^scripts/test\b": "runs these tests",
    r"^(pip|pipx|uvx?) ": "tests/install plays it, in an environment of its own",
    r"^(salloc|srun) ": "needs Slurm; tests/lab plays it where Slurm is installed",
    r"^mpirun -np 16 nccltool": "needs MPI; tests/lab/test_mpi.py plays it where MPI is installed",
    r"^(podman|docker) ": "needs a builder of images",
    r"^torchrun --nnodes 2": "needs two hosts",
    r"--node-rank": "needs two hosts; tests/lab plays it",
    r"^kubectl ": "needs a cluster of Kubernetes",
    r"--pushgateway": "needs a gateway; tests/monitor/exporters plays it with one of its own",
    r"--web-config": "needs certificates; tests/monitor plays it with some of its own",
    r"^prometheus ": "needs Prometheus",
    r"^ssh ": "needs another host",
    r"^exec /opt/venv|^export LD_LIBRARY": "is a script for other hosts",
    r"^exec sh -c": "is a file; tests/docs/test_contributing.py uses it",
    r"^nccltool (compare|report) (2026\d+T|monday|RUN1)": "is about runs of the reader",
    r"^nccltool report .*--baseline healthy": "is about a baseline of the reader",
    r"^nccltool import (old|monday)|^nccltool collect (node|pods)": "is about files of the reader",
    r"^check-jsonschema ": "needs a program that the tests do not install",
    r"docs/monitoring": "is about files of a checkout",
}
"""Lines that are not played, by their beginnings or options, and why."""

SEEDS = (
    'cp -r "$SHIPPED"/triage logs; cp "$SHIPPED"/follow/job.log .; cp job.log slurm-4711.out;'
    " for rank in 0 1; do cp job.log logs/rank$rank.log; done; echo NCCL_DEBUG=WARN > job.env; mkdir lists",
    "nccltool probe --nodes 2 --op all_reduce --sizes 1KiB,8KiB,128KiB,512KiB -n 20 -q > probe.txt",
    "nccltool baseline save nightly latest",
)
"""What a reader of the other pages has: logs of a job, settings, a run, a baseline."""
_BLOCK = re.compile(r"^```(sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_JUDGES = re.compile(r"nccltool (compare|doctor|triage|preflight|pairs)\b|--min-busbw")
_FAULT = re.compile(r"^NCCLTOOL_FAULT=")


@dataclass(frozen=True)
class Line:
    """A line that a page tells people to type."""

    page: Path
    typed: str

    @property
    def why_not(self) -> str:
        """Why it is not played; "" = it is."""
        return next((why for pattern, why in NOT_PLAYED.items() if re.search(pattern, self.typed)), "")

    @property
    def played(self) -> str:
        line = self.typed
        for old, new in INSTEAD:
            line = re.sub(old, new, line)
        return line

    @property
    def may_exit(self) -> set[int]:
        """Commands that judge may find something; one that is ended from outside says so."""
        if _FAULT.search(self.typed):
            return {1, 3}
        if self.played.startswith("timeout"):
            return {0, 124, 130}
        return {0, 1, 4} if _JUDGES.search(self.typed) else {0}


def lines(page: Path) -> Iterator[Line]:
    """Of the blocks that are no examples; a comment behind a command is left out."""
    shown = {example.begin for example in examples(page)}
    for block in _BLOCK.finditer(page.read_text()):
        if block.start(2) in shown or "--help\n" in block[2]:
            continue
        for line in block[2].replace("\\\n", " ").splitlines():
            typed = re.sub(r"\s+#(?!#).*$", "", line.removeprefix("$ ")).strip()
            if typed and not typed.startswith("#"):
                yield Line(page, typed)


SEQUENCES = {page: tuple(lines(page)) for page in PAGES if any(not line.why_not for line in lines(page))}
FIRST = (README, QUICKSTART)


def _ids(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.torch
@pytest.mark.parametrize("page", [README], ids=_ids)
def test_what_the_readme_says_works_in_its_order(page: Path, tmp_path: Path) -> None:
    _play(page, tmp_path)


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in SEQUENCES if page != README], ids=_ids)
def test_what_a_page_says_works_in_its_order(page: Path, tmp_path: Path) -> None:
    _play(page, tmp_path)


def _play(page: Path, folder: Path) -> None:
    seeds = () if page == QUICKSTART else SEEDS[:1] if page == README else SEEDS
    for seed in seeds:
        code, said = run_line(seed, folder, SHIPPED=str(SHIPPED))
        assert code == 0, f"{seed}\n{said}"
    for line in SEQUENCES[page]:
        if line.why_not:
            continue
        code, said = run_line(line.played, folder, SHIPPED=str(SHIPPED))
        assert code in line.may_exit, f"exit {code}: {line.typed}\nplayed as: {line.played}\n{said}"
        assert "Traceback" not in said, f"{line.played}\n{said}"


def test_what_is_not_played_is_on_some_page() -> None:
    typed = [line.typed for page in PAGES for line in lines(page)]
    unused = [pattern for pattern in NOT_PLAYED if not any(re.search(pattern, line) for line in typed)]
    assert unused == []


def test_most_of_what_pages_say_is_played() -> None:
    every = [line for page in PAGES for line in lines(page)]
    played = [line for line in every if not line.why_not]
    assert len(played) > 2 * (len(every) - len(played))
