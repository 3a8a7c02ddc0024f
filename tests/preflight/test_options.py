"""Words of nccltool preflight that cannot be used, and places where it cannot be."""

import pytest

from tests.cli.commands.test_preflight import WITHOUT_RANKS
from tests.conftest import Nccltool


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--suite", "preflite"), "unknown suite 'preflite'"),
        (("--suite", "/nowhere/x.toml"), "/nowhere/x.toml"),
        (("--platform", "h100"), "unknown platform 'h100'"),
        (("--only", "acros"), "--only: unknown stage 'acros'"),
        (("--skip", "inventory,dokter"), "--skip: unknown stage 'dokter'"),
        (("--budget", "60"), "--budget '60' is not a duration"),
        (("--keep-going",), "--keep-going needs --hosts or --hostfile"),
        (("--baseline", "/nowhere/x.json"), "/nowhere/x.json"),
        (("--baseline", "usual"), "no baselines: "),
        (("--run-dir", "/proc/nowhere"), "/proc/nowhere/"),
        (("--hosts-dir", "/proc/nowhere"), "--hosts-dir /proc/nowhere cannot be written"),
    ],
)
def test_words_that_cannot_be_used(words: tuple[str, ...], said: str, nccltool: Nccltool) -> None:
    done = nccltool("preflight", *WITHOUT_RANKS, *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_inside_of_a_started_job_there_is_no_preflight(nccltool: Nccltool) -> None:
    place = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "n1", "MASTER_PORT": "1"}
    done = nccltool("preflight", **place)
    assert (done.code, done.out) == (2, "")
    assert "preflight starts ranks itself and cannot run here: rank 0 of a job started by torchrun" in done.err
