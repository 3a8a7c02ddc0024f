"""What names runs to compare: files of nccl-tests, and words that name none."""

import pytest

from nccltool.core import run_directory
from nccltool.core.verdicts import Verdict
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.preflight import document as preflight_document
from nccltool.preflight.result import Preflight
from tests.cli.commands.test_compare import kept
from tests.conftest import Nccltool
from tests.interop.importers import foreign
from tests.interop.importers.samples import FOLDER
from tests.samples import info, job


def test_output_of_nccl_tests(nccltool: Nccltool) -> None:
    file = str(FOLDER / "all_reduce-2.19.6.txt")
    said = nccltool("compare", file, file, "-v")
    assert said.code in (0, 4)
    assert "time: median of the runs' means" in said.out
    assert "A and B share runs" in said.out
    assert nccltool("compare", file, kept(1)).code == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare", "nosuch", "latest"), "unknown run 'nosuch'"),
        (("compare", "latest", "latest"), "no run under"),
        (("compare", "a,,b", "latest"), "'a,,b' has an empty item"),
        (("compare", "baseline:x", "latest"), "no baselines: "),
    ],
)
def test_bad_words(nccltool: Nccltool, words: tuple[str, ...], message: str) -> None:
    said = nccltool(*words)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err


def preflight(number: int, *inside: tuple[str, str]) -> str:
    """A preflight of two ranks in the folder of runs, with the runs that it started: (stage, id from kept)."""
    name = f"2025010{number}T000000Z-pre{number}"
    base = run_directory.base_folder()
    verdict = Verdict(status="warn", exit_code=0)
    suite = Preflight(
        info=info(id=name), verdict=verdict, suite="s", outcomes=(), hosts=(), findings=(), runs=(), duration_s=1.0
    )
    folder = run_dir_of(base, job(run_id=name))
    folder.finish(preflight_document.to_json(suite))
    folder.close()
    for stage, run in inside:
        place = base / name / "runs" / stage
        place.mkdir(parents=True)
        (base / run).rename(place / run)
    return name


def test_a_preflight_stands_for_its_run_over_all_nodes(nccltool: Nccltool) -> None:
    over_all, part = kept(2), kept(1, world_size=1)
    name = preflight(3, ("within", part), ("across", over_all))
    for word in ("latest", name, name[:12], over_all, over_all[:8]):
        assert nccltool("baseline", "save", "b", word, "--replace").out == "baseline b: 1 run\n"
        assert over_all in nccltool("baseline", "show", "b").out


def test_latest_is_the_newest_run_that_measured_operations(nccltool: Nccltool) -> None:
    probe = kept(1)
    alone = preflight(2)
    assert nccltool("baseline", "save", "b", "latest").code == 0
    assert probe in nccltool("baseline", "show", "b").out
    said = nccltool("baseline", "save", "c", alone)
    assert said.code == 2
    assert "is a run of nccltool preflight that measured no operation across all nodes" in said.err


def test_another_benchmark_is_held_against_a_run(nccltool: Nccltool) -> None:
    """A run of nccltool over MPI's figures: refused with the reasons, then compared with a note that says why."""
    file, name = foreign.FOLDER / "osu-allreduce-full.txt", kept(1, world_size=8)
    assert f"nccltool import {file} --ranks N --keep" in nccltool("compare", name, str(file)).err.replace(
        "\n     ", " "
    )
    assert nccltool("import", str(file), "--ranks", "8", "--keep").code == 0
    imported = next(run.name for run in run_directory.folders(run_directory.base_folder()) if run.name != name)
    refused = nccltool("compare", name, imported)
    assert refused.code == 2
    assert "backend (" in refused.err
    ignored = ("backend", "unknown", "versions", "placement", "cadence", "nodes", "reduce-op", "dtype")
    words = [word for name in ignored for word in ("--ignore", name)]
    said = nccltool("compare", name, imported, *words, "-v")
    assert "ran over MPI (MPI, GPU memory), not over NCCL" in said.out, said.err
