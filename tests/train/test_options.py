"""From the words of `nccltool train` to a job."""

import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nccltool.cli.commands.train import asked
from nccltool.core.errors import BadInput
from nccltool.train import options as train_options
from nccltool.train import strategies
from nccltool.train.job import TrainJob, TrainSpec
from nccltool.train.strategies import deepspeed, fsdp
from tests.support.options import parsed


def order(*words: str, fault: str = "") -> TrainJob:
    made = train_options.from_options(asked(parsed("train", *words), fault), {}).job
    assert made.kind == "train"
    return made


def spec(*words: str, fault: str = "") -> TrainSpec:
    return order(*words, fault=fault).train


def test_all_is_every_file_of_the_folder() -> None:
    assert spec("all").strategies == strategies.NAMES
    assert {"ddp", "fsdp", "pipeline", "tensor", "zero1"} <= set(strategies.NAMES)


def test_strategies_are_taken_once_in_their_order() -> None:
    assert spec("tp+fsdp,ddp, tp-fsdp,3d").strategies == ("tp_fsdp", "ddp", "three_d")


def test_a_size_gives_what_is_not_said() -> None:
    large = spec("ddp", "--size", "125m", "--layers", "2", "-d", "double")
    assert (large.layers, large.width, large.heads, large.vocabulary) == (2, 768, 12, 50304)
    assert large.dtype == "float64"
    assert spec("ddp") == TrainSpec(strategies=("ddp",))


def test_types_and_limits() -> None:
    asked = spec("fsdp", "--param-dtype", "bf16", "--reduce-dtype", "fp32", "--clip-norm", "0.5", "--no-reshard")
    assert asked.of(fsdp.Options) == fsdp.Options(param_dtype="bfloat16", reduce_dtype="float32", reshard=False)
    assert asked.clip_norm == 0.5
    assert spec("ddp", "-d", "fp16").dtype == "float16"


def test_the_folder_of_traces_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "traces"
    assert spec("ddp", "--profile", str(folder)).profile == str(folder)
    assert list(folder.iterdir()) == []


def test_a_folder_that_takes_no_files(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput) as error:
        spec("ddp", "--profile", str(tmp_path / "file" / "traces"))
    assert error.value.message.endswith("file/traces is not writable: Not a directory")


def test_a_folder_of_data_that_this_host_lacks_and_others_may_have(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    with pytest.raises(BadInput) as error:
        spec("ddp", "--data", missing)
    assert error.value.message == f"--data {missing} cannot be read: No such file or directory"
    assert spec("ddp", "--data", missing, "--hosts", "a,b").data == missing


@pytest.mark.parametrize("size", [None, 7], ids=["empty", "too short"])
def test_a_folder_of_data_without_a_sequence(tmp_path: Path, size: int | None) -> None:
    folder = str(tmp_path)
    if size is not None:
        (tmp_path / "a.txt").write_bytes(bytes(size))
    with pytest.raises(BadInput) as error:
        spec("ddp", "--data", folder, "--context", "7")
    assert error.value.message == f"--data {folder} has no file of at least 8 bytes"
    assert spec("ddp", "--data", folder, "--context", "7", "--hosts", "a,b").data == folder
    (tmp_path / "b.txt").write_bytes(bytes(8))
    assert spec("ddp", "--data", folder, "--context", "7").data == folder


def test_a_file_of_data_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "c.txt").symlink_to("nowhere")
    with pytest.raises(BadInput) as error:
        spec("ddp", "--data", str(tmp_path))
    assert error.value.message == f"--data {tmp_path / 'c.txt'} cannot be read: No such file or directory"


@pytest.mark.parametrize(
    ("strategy", "words", "own"),
    [
        ("ddp", ("--comm-hook", "fp16", "--shard", "grad"), {"options": {"comm_hook": "fp16"}}),
        ("fsdp", ("--comm-hook", "fp16", "--shard", "grad"), {"options": {"shard": "grad"}}),
        ("pipeline", ("--comm-hook", "fp16", "--clip-norm", "1"), {"clip_norm": 1.0}),
    ],
)
def test_a_strategy_takes_what_is_for_it(strategy: str, words: tuple[str, ...], own: dict[str, Any]) -> None:
    asked = spec("ddp,fsdp,pipeline", *words)
    assert asked.for_one(strategy) == replace(TrainSpec(strategies=asked.strategies), **own)


def test_an_option_crosses_to_the_workers_as_it_was_given() -> None:
    asked = spec("ddp,pipeline", "--bucket", "1", "--stages", "1", "--static-graph", "--comm-hook", "fp16")
    assert asked.options == {"bucket_mib": 1.0, "stages": 1, "static_graph": True, "comm_hook": "fp16"}
    again = msgspec.json.decode(msgspec.json.encode(asked), type=TrainSpec)
    assert (again, type(again.options["bucket_mib"])) == (asked, float)


@pytest.mark.parametrize(
    ("words", "fault", "message", "remedy"),
    [
        *(
            ((*words.split(),), "", message, remedy)
            for words, message, remedy in (
                ("fsdp --comm-hook fp16", "--comm-hook is for ddp, not for fsdp", "omit it or"),
                ("ddp,zero1 --no-reshard", "--no-reshard is for fsdp, not for ddp, zero1", "omit it or"),
                (
                    "ddp --accumulate 2 --static-graph",
                    "--static-graph cannot be combined with --accumulate: torch would synchronize every "
                    "micro-batch",
                    "use one",
                ),
                (
                    "ddp --halve-on-oom --static-graph",
                    "--halve-on-oom cannot be combined with --comm-hook, --sync-batch-norm, --static-graph, or "
                    "--tune: the passes of a rank make no collectives",
                    "omit one",
                ),
                ("ddp --patience 2", "--patience needs --validate", "omit one"),
                (
                    "ddp --validate 3 --sync-batch-norm",
                    "--validate cannot be combined with --sync-batch-norm or --data",
                    "omit one",
                ),
                (
                    "pipeline --stages 2",
                    "--schedule 1f1b needs exactly 1 stage per rank, not --stages 2",
                    "omit --stages",
                ),
                (
                    "pipeline --schedule interleaved --stages 1",
                    "--schedule interleaved needs at least 2 stages per rank, not --stages 1",
                    "omit --stages",
                ),
                (
                    "3d --schedule zbv --stages 3",
                    "--schedule zbv needs exactly 2 stages per rank, not --stages 3",
                    "omit --stages",
                ),
                ("ddp --zero 2", "--zero is for deepspeed, not for ddp", "omit it or"),
                (
                    "ddp --accumulate 3",
                    "--batch 4 cannot be divided into --accumulate 3 parts",
                    "use a multiple of 3",
                ),
                (
                    "fsdp --param-dtype bf16 -d fp16",
                    "--param-dtype bfloat16 cannot be combined with -d float16: "
                    "both set the data type of the computation",
                    "use one",
                ),
                (
                    "fsdp --param-dtype int8",
                    "--param-dtype: 'int8' is not a data type for training",
                    "choose from bf",
                ),
                (
                    "ddp --comm-hook bf16 --backend gloo",
                    "--comm-hook bf16 needs NCCL: torch refuses it on CPUs",
                    "use --comm-hook fp16",
                ),
                (
                    "dp --tune",
                    "--tune has nothing to vary for dp: it runs in one process",
                    "omit it or choose from ddp, deepspeed, fsdp, fsdp1, pipeline, ring, 3d, zero1",
                ),
                (
                    "ddp --comm-hook topk --tune",
                    "--tune cannot be combined with --sync-batch-norm or --comm-hook int8 or topk: "
                    "their losses depend on the number of micro-batches",
                    "omit one",
                ),
                (
                    "fsdp --adamw --momentum 0.5",
                    "--momentum cannot be combined with --adamw: it is for SGD",
                    "omit one",
                ),
                ("zero1 --lr-warmup 6", "--lr-warmup 6 leaves no step of --steps 6 for the decay", "omit one"),
                ("tensor --adamw", "--adamw is for ddp, fsdp, zero1, not for tensor", "omit it"),
                (
                    "ddp --sync-batch-norm --recompute",
                    "--sync-batch-norm cannot be combined with --recompute: "
                    "the second forward pass would update the running statistics again",
                    "omit one",
                ),
                (
                    "ddp --sync-batch-norm --comm-hook int8",
                    "--sync-batch-norm cannot be combined with --comm-hook: "
                    "the gradient of a rank alone has no reference",
                    "omit one",
                ),
                (
                    "ddp --comm-hook topk -d fp16",
                    "--comm-hook topk cannot be combined with -d float16: "
                    "an overflow would be carried to all later steps",
                    "omit one",
                ),
            )
        ),
        (("fsdp", "--param-dtype", ""), "", "--param-dtype: '' is not a data type for training", "choose from bf"),
        (("ddq",), "", "unknown strategy 'ddq'", "did you mean ddp? choose from "),
        (("",), "", "unknown strategy ''", "choose from "),
        (("ddp", "--width", "65"), "", "--width 65 cannot be divided by --heads 4", "use a multiple of 4"),
        (("ddp", "-d", "int8"), "", "--dtype: 'int8' is not a data type for training", "choose from float32, "),
        (("ddp",), "kill:rank=9", "NCCLTOOL_FAULT: this run has no rank 9", "ranks start at 0"),
    ],
)
def test_a_word_that_cannot_be_used(words: tuple[str, ...], fault: str, message: str, remedy: str) -> None:
    with pytest.raises(BadInput) as error:
        spec(*words, fault=fault)
    assert error.value.message == message
    assert error.value.remedy.startswith(remedy)


@pytest.mark.skipif(find_spec("deepspeed") is not None, reason="DeepSpeed is installed")
@pytest.mark.parametrize("words", ["deepspeed", "ddp,deepspeed --zero 3"])
def test_deepspeed_is_asked_for_and_is_not_installed(words: str) -> None:
    with pytest.raises(BadInput) as error:
        spec(*words.split())
    assert error.value.message == "DeepSpeed is not installed here"
    assert error.value.remedy == "run pip install 'nccltool[deepspeed]' or choose another strategy"


@pytest.mark.parametrize(
    ("words", "message", "remedy"),
    [
        (
            "all --offload-dir /tmp",
            "--offload-dir needs --zero 3: with --zero 1, DeepSpeed keeps all state in memory",
            "add --zero 3 or omit",
        ),
        (
            "deepspeed --zero 2 --offload-dir /missing --hosts a,b",
            "--offload-dir needs --zero 3: with --zero 2, DeepSpeed keeps all state in memory",
            "add --zero 3 or omit",
        ),
        ("deepspeed --zero 3 --offload-dir nvme", "--offload-dir nvme is not an absolute path", "name the folder"),
        (
            "deepspeed --zero 3 --offload-dir ./nvme --hosts a,b",
            "--offload-dir ./nvme is not an absolute path",
            "name the folder",
        ),
        (
            "all --zero 3 --offload-dir /proc/missing",
            "--offload-dir /proc/missing cannot be used: No such file or directory",
            "name a writable folder",
        ),
        ("fsdp --offload-dir /tmp", "--offload-dir is for deepspeed, not for fsdp", "omit it or"),
    ],
)
def test_a_folder_for_files_that_cannot_be_used(words: str, message: str, remedy: str) -> None:
    with pytest.raises(BadInput) as error:
        spec(*words.split())
    assert error.value.message == message
    assert error.value.remedy.startswith(remedy)


def test_a_folder_for_files_in_which_none_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.R_OK)  # root may write anywhere
    with pytest.raises(BadInput) as error:
        spec("all", "--zero", "3", "--offload-dir", str(tmp_path))
    assert error.value.message == f"--offload-dir {tmp_path} cannot be used: it is not writable"


def test_a_folder_for_files_is_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "theirs").touch()
    asked = order("all", "--zero", "3", "--offload-dir", str(tmp_path))
    assert (asked.large_files_in, asked.large_files) == (str(tmp_path), "")
    assert [entry.name for entry in tmp_path.iterdir()] == ["theirs"]
    assert order("all", "--zero", "3").large_files_in == ""


def test_other_hosts_may_have_a_folder_for_files() -> None:
    asked = order("deepspeed", "--zero", "3", "--offload-dir", "/missing/nvme", "--hosts", "a,b")
    assert asked.large_files_in == "/missing/nvme"


def test_other_hosts_may_have_deepspeed() -> None:
    assert spec("deepspeed", "--zero", "2", "--hosts", "a,b").of(deepspeed.Options).zero == 2
