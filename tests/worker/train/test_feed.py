"""What ranks train with: batches of files, as the plan has them, and findings where a folder cannot be used."""

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nccltool.launch.events import Reported
from nccltool.train.events import InputDealt, InputWrong
from nccltool.train.job import TrainSpec
from nccltool.worker.train import feed, strategies
from nccltool.worker.train.input import InputFailed
from nccltool.worker.train.strategies.base import Setup, Strategy
from tests.worker.train.conftest import SPEC
from tests.worker.train.test_comparison import Said

pytestmark = pytest.mark.torch

OF_FILES = replace(SPEC, dtype="float32", vocabulary=256, batch=4)
LENGTH = OF_FILES.context + 1


@pytest.fixture
def said(setup: Setup) -> Iterator[Said]:
    heard = Said(OF_FILES)
    yield heard
    heard.close()


def built(said: Said, spec: TrainSpec) -> Strategy:
    return strategies.build(Setup("ddp", spec, said.tools))


def folder(path: Path, sequences: int) -> str:
    (path / "tokens").write_bytes(bytes(number % 256 for number in range(sequences * LENGTH)))
    return str(path)


def test_a_step_has_what_the_plan_deals_out(said: Said, tmp_path: Path) -> None:
    strategy = built(said, replace(OF_FILES, data=folder(tmp_path, 11)))
    assert feed.feed(strategy)
    for number in (1, 2, 3):  # the third is in the second epoch
        drawn, waited = strategy.setup.drawn(number)
        assert waited.ns > 0
        assert waited.stalled_ns is None or waited.ns >= waited.stalled_ns >= 0
        assert torch.equal(drawn, strategy.setup.tokens(number))
    assert said.events() == [InputDealt(strategy="ddp", sequences=11, epoch_steps=2, left_out=3)]


def test_a_training_goes_on_where_its_checkpoint_ended(said: Said, tmp_path: Path) -> None:
    strategy = built(said, replace(OF_FILES, data=folder(tmp_path, 40)))
    assert feed.feed(strategy)
    assert strategy.setup.feed is not None
    strategy.setup.feed.skip(13)  # three steps of the second epoch
    assert torch.equal(strategy.setup.drawn(14)[0], strategy.setup.tokens(14))


def test_a_wrong_shard_is_told(said: Said, tmp_path: Path) -> None:
    strategy = built(said, replace(OF_FILES, data=folder(tmp_path, 8)))
    assert feed.feed(strategy)
    given = strategy.setup.feed
    assert isinstance(given, feed.FileFeed)
    given._input.sampler.set_epoch = lambda epoch: None
    for _ in range(3):
        given.draw()
    (_, wrong) = said.events()
    assert isinstance(wrong, InputWrong)
    assert (wrong.rank, wrong.number, wrong.what) == (0, 3, "of an earlier epoch")


@pytest.mark.parametrize(
    ("sequences", "why"),
    [
        (None, "/none cannot be read: No such file or directory"),
        (0, "has no file of at least 9 bytes"),
        (3, "and a step needs 4"),
    ],
    ids=["not there", "empty", "too few"],
)
def test_what_cannot_be_trained_with(said: Said, tmp_path: Path, sequences: int | None, why: str) -> None:
    data = str(tmp_path / "none") if sequences is None else folder(tmp_path, sequences)
    assert not feed.feed(built(said, replace(OF_FILES, data=data)))
    (event,) = said.events()
    assert isinstance(event, Reported)
    assert event.finding.code == "input-unusable"
    assert why in event.finding.message


def test_workers_need_a_short_temporary_folder(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/" + "t" * 75)
    spec = replace(OF_FILES, data=folder(tmp_path, 11))
    assert feed.feed(built(said, spec))
    assert not feed.feed(built(said, replace(spec, data_workers=1)))
    event = said.events()[-1]
    assert isinstance(event, Reported)
    assert event.finding.remedy == "choose a shorter TMPDIR"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # torch's iterator, at its own end
def test_a_worker_that_dies_amid_a_step_is_named(
    said: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/tmp")  # that of the test is too long for the sockets of workers
    strategy = built(said, replace(OF_FILES, data=folder(tmp_path, 40), data_workers=1))
    assert feed.feed(strategy)
    given = strategy.setup.feed
    assert isinstance(given, feed.FileFeed)
    with pytest.raises(RuntimeError, match="of the strategy"), given.naming_dead_workers():
        raise RuntimeError("of the strategy")
    given.draw()
    (pid,) = given._input.workers()
    named = rf"worker 0 \(pid {pid}\) of the input of rank 0 was killed by SIGKILL"
    with pytest.raises(InputFailed, match=named), given.naming_dead_workers():
        os.kill(pid, signal.SIGKILL)
        time.sleep(30)
