"""Starting configurations, read by what reads them."""

import json
import subprocess
import tomllib
from dataclasses import replace

import pytest

from nccltool.core.errors import BadInput
from nccltool.plan import emit
from nccltool.plan.recipe import PRECISIONS
from tests.plan.samples import plan


def test_kinds() -> None:
    assert emit.KINDS == ("torchrun", "slurm", "torchtitan", "deepspeed")


def test_torchtitan_gets_the_degrees() -> None:
    made = plan(64, strategies=("fsdp",), tensor=2, pipeline=2)
    config = tomllib.loads(emit.emit(made, "torchtitan"))
    degrees = config["parallelism"]
    assert degrees["data_parallel_shard_degree"] == 16
    assert (degrees["tensor_parallel_degree"], degrees["pipeline_parallel_degree"]) == (2, 2)
    assert degrees["pipeline_parallel_schedule"] == "1F1B"
    training = config["training"]
    assert training["global_batch_size"] == 256
    assert training["local_batch_size"] * 16 == 256
    assert config["activation_checkpoint"]["mode"] == made.strategies[0].layout.recompute


def test_deepspeed_gets_its_stage_and_batches() -> None:
    made = plan(64, strategies=("fsdp",), tensor=1, pipeline=1)
    with pytest.raises(BadInput, match="not mixed"):
        emit.emit(made, "deepspeed")
    amp = replace(made, recipe=replace(made.recipe, precision=PRECISIONS["amp"]))
    config = json.loads(emit.emit(amp, "deepspeed"))
    assert config["zero_optimization"]["stage"] == 3
    size = config["train_micro_batch_size_per_gpu"] * config["gradient_accumulation_steps"] * 64
    assert size == config["train_batch_size"] == 256


@pytest.mark.parametrize("kind", ["torchrun", "slurm"])
@pytest.mark.parametrize("gpus", [4, 64])
def test_scripts_are_shell(kind: str, gpus: int) -> None:
    script = emit.emit(plan(gpus), kind)
    subprocess.run(["bash", "-n"], input=script, text=True, check=True, timeout=20)
    assert f"--nproc-per-node {min(gpus, 8)}" in script
    assert ("--nnodes 8" in script) == (gpus == 64)
    assert "export TENSOR_PARALLEL=" in script


def test_torchtitan_cannot_split_few_key_and_value_heads() -> None:
    made = plan(64, strategies=("fsdp",), tensor=8)
    few = replace(made, model=replace(made.model, kv_heads=4))
    with pytest.raises(BadInput, match="cannot split 4 key and value heads over tp 8"):
        emit.emit(few, "torchtitan")


def test_what_a_framework_cannot_do_is_said() -> None:
    with pytest.raises(BadInput, match="DeepSpeed's configuration has no tensor parallelism"):
        emit.emit(plan(64, strategies=("fsdp",), tensor=2, pipeline=1), "deepspeed")
    with pytest.raises(BadInput, match="torchtitan has no zero1"):
        emit.emit(plan(64, strategies=("zero1",), tensor=2), "torchtitan")
    with pytest.raises(BadInput, match="--gpus 12 does not fill nodes of 8 GPUs"):
        emit.emit(plan(12), "slurm")
    with pytest.raises(BadInput, match="nothing fits"):
        emit.emit(plan(1), "torchrun")
