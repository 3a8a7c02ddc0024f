"""Batches by DistributedSampler and DataLoader against the plan; what fails, and which worker."""

import os
import signal
import threading
from pathlib import Path

import pytest
from torch import Tensor

from nccltool.train.input_files import NoInput
from nccltool.train.input_order import InputPlan, Uneven
from nccltool.worker.train.input import Input, InputFailed, LoaderSettings
from nccltool.worker.train.token_files import TokenFiles

pytestmark = pytest.mark.torch

_CONTEXT = 7
_NONE = LoaderSettings()


def _folder(path: Path, sequences: int = 50) -> Path:
    """Two files, the first with half a sequence too many."""
    length = _CONTEXT + 1
    whole = bytes(number % 251 for number in range(sequences * length))
    (path / "a.txt").write_bytes(whole[: 20 * length] + b"half")
    (path / "b.txt").write_bytes(whole[20 * length :])
    (path / ".hidden").write_bytes(whole)
    return path


def _inputs(
    folder: Path, ranks: int, batch: int, uneven: Uneven = "drop", settings: LoaderSettings = _NONE
) -> list[Input]:
    files = TokenFiles(folder, _CONTEXT)
    plan = InputPlan(sequences=len(files), ranks=ranks, batch=batch, uneven=uneven)
    return [Input(files, plan, rank, 3, settings) for rank in range(ranks)]


def test_files_are_cut_into_whole_sequences(tmp_path: Path) -> None:
    files = TokenFiles(_folder(tmp_path), _CONTEXT)
    assert len(files) == 50
    assert [name for name, _ in files.description] == ["a.txt", "b.txt"]
    for number in (0, 19, 20, 49):
        first = number * (_CONTEXT + 1)
        assert files[number][0] == number
        assert files[number][1].tolist() == [place % 251 for place in range(first, first + _CONTEXT + 1)]


def test_a_file_that_has_become_shorter_is_named(tmp_path: Path) -> None:
    files = TokenFiles(_folder(tmp_path), _CONTEXT)
    (tmp_path / "b.txt").write_bytes(b"short")
    with pytest.raises(NoInput, match=r"b\.txt has become shorter"):
        files[49]


def test_a_hidden_link_to_nothing_is_no_input(tmp_path: Path) -> None:
    folder = _folder(tmp_path)
    (folder / ".#a.txt").symlink_to("user@host.1")
    assert len(TokenFiles(folder, _CONTEXT)) == 50
    (folder / "c.txt").symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match=r"c\.txt"):
        TokenFiles(folder, _CONTEXT)


@pytest.mark.parametrize("made", [[], ["a"]], ids=["empty", "too short"])
def test_a_folder_without_a_sequence_is_no_input(tmp_path: Path, made: list[str]) -> None:
    for name in made:
        (tmp_path / name).write_bytes(b"1234567")
    with pytest.raises(NoInput, match="has no file of at least 8 bytes"):
        TokenFiles(tmp_path, _CONTEXT)


@pytest.mark.parametrize("uneven", ["drop", "repeat"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_torch_deals_out_what_the_plan_says(tmp_path: Path, ranks: int, uneven: Uneven) -> None:
    inputs = _inputs(_folder(tmp_path), ranks, 3, uneven)
    for one in inputs:
        for _ in range(3 * one.plan.steps):
            assert one.check(one.draw()) is None


def test_faults_are_found(tmp_path: Path) -> None:
    stale, other, dropped = _inputs(_folder(tmp_path), 3, 2)
    stale.sampler.set_epoch = lambda epoch: None
    for _ in range(stale.plan.steps):
        assert stale.check(stale.draw()) is None
    found = stale.check(stale.draw())
    assert found is not None
    assert (found.what, found.rank) == ("of an earlier epoch", 0)
    other.sampler.rank = 2
    found = other.check(other.draw())
    assert found is not None
    assert (found.what, found.rank) == ("of another rank", 1)
    drawn = dropped.draw()
    drawn.numbers = drawn.numbers[:1]
    found = dropped.check(drawn)
    assert found is not None
    assert (found.what, found.rank) == ("missing", 2)


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_workers_read_the_same_and_leave_no_descriptor(tmp_path: Path) -> None:
    (one, _) = _inputs(_folder(tmp_path), 2, 3, settings=LoaderSettings(workers=2))
    for _ in range(one.plan.steps):
        assert one.check(one.draw()) is None
    before = _descriptors()
    for _ in range(2 * one.plan.steps):
        assert one.check(one.draw()) is None
    assert _descriptors() <= before + 1


class _Leaking(TokenFiles):
    """Opens a file for each sequence."""

    def __getitem__(self, number: int) -> tuple[int, Tensor]:
        os.open("/dev/null", os.O_RDONLY)
        return super().__getitem__(number)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", [TokenFiles, _Leaking])
def test_who_leaks_descriptors_is_named(tmp_path: Path, kind: type[TokenFiles], workers: int) -> None:
    files = kind(_folder(tmp_path, 60), _CONTEXT)
    plan = InputPlan(sequences=len(files), ranks=1, batch=2)
    one = Input(files, plan, 0, 3, LoaderSettings(workers=workers))
    for _ in range(28):
        one.draw()
    found = one.leaks()
    assert (found != ()) == (kind is _Leaking)
    for number, leak in enumerate(found):
        assert leak.after - leak.before >= leak.batches
        assert leak.who.startswith(f"worker {number} (pid " if workers else "the input of rank 0")
    assert len(found) in (0, workers or 1)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # torch's iterator, at its own end
def test_a_worker_that_dies_is_named(tmp_path: Path) -> None:
    (one,) = _inputs(_folder(tmp_path, 2000), 1, 2, settings=LoaderSettings(workers=2, timeout_s=30))
    one.draw()
    pid = one.workers()[1]
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(InputFailed, match=rf"worker 1 \(pid {pid}\) of the input of rank 0 was killed by SIGKILL"):
        for _ in range(900):
            one.draw()


def test_a_worker_that_hangs_is_named(tmp_path: Path) -> None:
    (one,) = _inputs(_folder(tmp_path, 2000), 1, 2, settings=LoaderSettings(workers=2, timeout_s=3))
    one.draw()
    pid = one.workers()[1]
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(InputFailed, match=rf"worker 1 \(pid {pid}\) .* after 3 s; its process is in state T"):
            for _ in range(900):
                one.draw()
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_worker_that_hangs_between_its_answer_and_the_descriptor_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch waits for it without an end."""
    (one,) = _inputs(_folder(tmp_path, 2000), 1, 2, settings=LoaderSettings(workers=2, timeout_s=1))
    one.draw()
    pid, rest = one.workers()[1], threading.Event()
    monkeypatch.setattr(one, "_next", lambda epoch, inside: rest.wait(60))
    os.kill(pid, signal.SIGSTOP)
    try:
        with pytest.raises(InputFailed, match=rf"worker 1 \(pid {pid}\) .* after 1 s; its process is in state T"):
            one.draw()
    finally:
        os.kill(pid, signal.SIGCONT)
        rest.set()


def test_a_disk_that_does_not_answer_ends_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = _inputs(_folder(tmp_path), 1, 2, settings=LoaderSettings(timeout_s=0.5))
    rest = threading.Event()
    monkeypatch.setattr(TokenFiles, "__getitem__", lambda self, number: rest.wait(60))
    with pytest.raises(InputFailed, match=r"the input of rank 0 has not read its batch after 0\.5 s"):
        one.draw()
    rest.set()
