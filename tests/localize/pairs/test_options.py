"""From the words of `nccltool pairs` to a job."""

from pathlib import Path

import msgspec
import pytest

from nccltool.cli.commands.pairs import asked
from nccltool.core.errors import BadInput
from nccltool.localize.pairs import options as pairs_options
from nccltool.localize.pairs.job import PairsJob, PairSpec
from tests.support.options import parsed


def job(*words: str, fault: str = "") -> PairsJob:
    return pairs_options.from_options(asked(parsed("pairs", *words), fault), {}).job


def test_without_words() -> None:
    assert job("--nodes", "4").pairs == PairSpec()
    assert (PairSpec().bytes_on("gloo"), PairSpec().bytes_on("nccl")) == (4 * 2**20, 256 * 2**20)


def test_a_job_crosses_to_the_workers(tmp_path: Path) -> None:
    leaves = tmp_path / "leaves"
    leaves.write_text("n1 a\nn2 b\n")
    words = ("--op", "send_recv", "--bytes", "1MiB", "--rounds", "5", "--expect", "50GB/s")
    made = job("--nodes", "3", "--topology", str(leaves), *words)
    assert msgspec.json.decode(msgspec.json.encode(made), type=PairsJob) == made
    assert (made.pairs.bytes_on("nccl"), made.pairs.most_rounds) == (2**20, 5)
    assert made.pairs.expected_busbw_bytes_per_s == 50e9
    assert dict(made.pairs.topology.leaf_of) == {"n1": "a", "n2": "b"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--nodes", "1"), "1 node cannot form a pair"),
        (("--nodes", "3", "--groups", "4"), "3 nodes cannot meet in groups of 4"),
        (("--nodes", "4", "--bytes", "much"), "--bytes: 'much' is not a size"),
        (("--nodes", "4", "--bytes", "6"), "--bytes 6: not a whole number of float32 elements"),
        (("--nodes", "4", "--expect", "0GB/s"), "--expect 0GB/s is no speed"),
        (("--nodes", "4", "--expect", ""), "--expect is empty"),
        (("--nodes", "4", "--within", "--groups", "3"), "--within cannot be combined with --groups"),
        (
            ("--nodes", "4", "--within", "--nproc-per-node", "1"),
            "--within measures pairs of ranks, and each node has one rank",
        ),
        (("--nodes", "4", "--rails", "eth0,eth1"), "--rails eth0,eth1: NCCL chooses its rails once per process"),
        (
            ("--nodes", "4", "--rails", "eth0", "--within", "--nproc-per-node", "2"),
            "--within cannot be combined with --rails",
        ),
        (("--nodes", "4", "--all-pairs", "--groups", "3"), "--groups cannot be combined with --all-pairs"),
    ],
)
def test_words_that_cannot_be_used(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(BadInput) as error:
        job(*words)
    assert error.value.message == message


def test_a_drill_of_trainings_is_refused() -> None:
    with pytest.raises(BadInput, match="sum is for nccltool train"):
        job("--nodes", "2", fault="sum:rank=1")
