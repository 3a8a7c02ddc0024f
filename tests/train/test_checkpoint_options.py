"""Checkpoints, restarts and the rank to kill, as they are asked for."""

from pathlib import Path

import pytest

from nccltool.cli.commands.train import asked
from nccltool.core.errors import BadInput
from nccltool.launch.order import LaunchOrder
from nccltool.train import options as train_options
from nccltool.train.job import TrainJob, TrainSpec
from tests.support.options import parsed
from tests.train.test_checkpoints import saved

TASK = {"RANK": "0", "WORLD_SIZE": "2", "LOCAL_RANK": "0", "MASTER_ADDR": "n1", "MASTER_PORT": "1"}


def order(*words: str, **env: str) -> LaunchOrder[TrainJob]:
    options = parsed("train", *words)
    return train_options.from_options(asked(options, env.pop("NCCLTOOL_FAULT", "")), env)


def spec(*words: str) -> TrainSpec:
    return order(*words).job.train


def test_a_rank_to_kill_is_a_drill_of_the_first_attempt() -> None:
    asked = order("ddp", "--kill-rank", "0", "--at-step", "3", "--max-restarts", "2")
    assert (asked.job.fault, asked.job.attempt, asked.max_restarts) == ("kill:rank=0,step=3,attempt=0", 0, 2)
    assert (order("ddp").job.fault, order("ddp").max_restarts) == ("", 0)


def test_the_folder_is_made_and_has_its_whole_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = spec("ddp", "--checkpoint", "a/b", "--checkpoint-every", "3", "--momentum", "0.9")
    assert (asked.checkpoint, asked.checkpoint_every, asked.momentum) == (str(tmp_path / "a/b"), 3, 0.9)
    assert (tmp_path / "a/b").is_dir()


def test_the_folder_of_other_hosts_is_not_made_here(tmp_path: Path) -> None:
    words = ("--hosts", "n1", "--ssh", "true", "--checkpoint", str(tmp_path / "there"))
    assert spec("ddp", *words).checkpoint == str(tmp_path / "there")
    assert not (tmp_path / "there").exists()


@pytest.mark.parametrize(
    ("words", "env", "message"),
    [
        (("--kill-rank", "1"), {}, "--kill-rank also needs --at-step"),
        (("--at-step", "1"), {}, "--at-step also needs --kill-rank"),
        (("--kill-rank", "1", "--at-step", "7"), {}, "--at-step 7 is after the last step (--steps 6)"),
        (("--kill-rank", "2", "--at-step", "1"), {}, "--kill-rank 2: this run has no such rank"),
        (
            ("--kill-rank", "1", "--at-step", "1"),
            {"NCCLTOOL_FAULT": "stop"},
            "--kill-rank cannot be combined with NCCLTOOL_FAULT",
        ),
        (("--grace", "30"), {}, "--grace needs --checkpoint"),
        (("--checkpoint", ""), {}, "--checkpoint '': expected a name"),
        (("--checkpoint", "/dev/null/x"), {}, "--checkpoint /dev/null/x cannot be created: Not a directory"),
        (
            ("--max-restarts", "1"),
            TASK,
            "--max-restarts needs a command that starts all ranks, but this one starts only its own",
        ),
        (
            ("--max-restarts", "1", "--nodes", "2", "--node-rank", "0", "--rdzv-endpoint", "n1:1"),
            {},
            "--max-restarts needs a command that starts all ranks, but this one starts only its own",
        ),
        (
            ("--max-restarts", "1", "--events"),
            {},
            "--max-restarts cannot be combined with --events: an event stream covers one attempt",
        ),
        (
            ("--comm-hook", "powersgd", "--checkpoint", "/tmp"),
            {},
            "--comm-hook powersgd cannot be combined with --checkpoint: its state is not saved",
        ),
        (
            ("--adamw", "--checkpoint", "/tmp"),
            {},
            "--adamw cannot be combined with --checkpoint: its state is not saved",
        ),
        (
            ("--sync-batch-norm", "--checkpoint", "/tmp"),
            {},
            "--sync-batch-norm cannot be combined with --checkpoint: its state is not saved",
        ),
        (
            ("--comm-hook", "topk", "--checkpoint", "/tmp"),
            {},
            "--comm-hook topk cannot be combined with --checkpoint: its state is not saved",
        ),
    ],
)
def test_words_that_cannot_be_used(words: tuple[str, ...], env: dict[str, str], message: str) -> None:
    with pytest.raises(BadInput) as error:
        order("ddp", *words, **env)
    assert error.value.message == message
    assert error.value.remedy


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--layers", "2"), "is from a different training run: --layers is 4 in the checkpoint and 2 here"),
        (
            ("--kill-rank", "1", "--at-step", "4"),
            "already contains step 4, and training resumes after it",
        ),
    ],
)
def test_what_is_in_the_folder_must_fit(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    saved(tmp_path / "ddp", 4)
    with pytest.raises(BadInput) as error:
        order("fsdp,ddp" if "--layers" in words else "ddp", "--checkpoint", str(tmp_path), *words)
    assert error.value.message.endswith(f"{tmp_path}/ddp/step-000004 {message}")
    assert order("fsdp", "--checkpoint", str(tmp_path), *words).job.train


def test_options_of_another_way_to_train_do_not_count(tmp_path: Path) -> None:
    """A second run of what was saved goes on: ddp was saved without what is fsdp's."""
    saved(tmp_path / "ddp", 4)
    words = ("--checkpoint", str(tmp_path), "--param-dtype", "bf16", "--steps", "6")
    assert order("ddp,fsdp", *words).job.train.strategies == ("ddp", "fsdp")
