import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nccltool.core.errors import BadInput
from nccltool.launch.options import StartOptions
from nccltool.plan import document, like, models
from nccltool.plan.document import PlanDocument
from nccltool.plan.like import RanksHere
from nccltool.plan.model import Experts, Model
from nccltool.train import sharing
from tests.plan.samples import EXPERTS, plan

CPUS = RanksHere(ranks=2, on_gpus=False, free_bytes=2**33)
GPUS = RanksHere(ranks=8, on_gpus=True, free_bytes=None)


def planned(gpus: int = 8, model: str = "llama-3-8b", **wanted: Any) -> PlanDocument:
    made = plan(gpus, models.of_word(model), **wanted)
    return msgspec.json.decode(document.to_json(made), type=PlanDocument)


@pytest.mark.parametrize(
    ("wanted", "strategy", "own"),
    [
        ({"strategies": ("fsdp",), "tensor": 1, "pipeline": 1}, "fsdp", {"param_dtype": "bfloat16"}),
        ({"gpus": 16, "strategies": ("hsdp",), "tensor": 1, "pipeline": 1}, "fsdp", {"shard": "hybrid"}),
        ({"gpus": 64, "strategies": ("zero1",), "tensor": 4, "pipeline": 1}, "tensor", {}),
        ({"strategies": ("fsdp",), "tensor": 2, "pipeline": 1}, "tp_fsdp", {}),
        ({"model": "gpt2", "tensor": 1, "pipeline": 4, "schedule": "gpipe"}, "pipeline", {"schedule": "gpipe"}),
        ({"tensor": 2, "pipeline": 4}, "three_d", {"schedule": "1f1b"}),
        ({"strategies": ("fsdp",), "tensor": 1, "context": 2, "pipeline": 1}, "ring", {}),
        ({"model": "gpt2", "strategies": ("ddp",), "tensor": 1, "pipeline": 1}, "ddp", {}),
        ({"model": "gpt2", "strategies": ("zero2",), "tensor": 1, "pipeline": 1}, "deepspeed", {"zero": 2}),
    ],
)  # fmt: skip
def test_each_kind_of_layout_has_its_strategy(
    wanted: dict[str, object], strategy: str, own: dict[str, object]
) -> None:
    found = like.of(planned(**wanted), "plan.json", CPUS)  # type: ignore[arg-type]
    assert found.spec.strategies == (strategy,)
    assert own.items() <= found.spec.options.items()


@pytest.mark.parametrize("here", [CPUS, GPUS])
@pytest.mark.parametrize("model", ["gpt2", "llama-3-8b", "llama-3-70b"])
def test_the_model_is_small_and_ranks_can_share_it(model: str, here: RanksHere) -> None:
    found = like.of(planned(1024, model, strategies=("fsdp",), tensor=1, context=1, pipeline=1), "plan.json", here)
    spec = found.spec
    assert spec.width % spec.heads == 0
    assert 6 * 12 * spec.layers * spec.width**2 * spec.batch * spec.context * here.ranks <= (
        2e13 if here.on_gpus else 2e9
    )
    assert sharing.of(spec, "tensor", here.ranks).reason == ""
    assert f"width {spec.width:,} instead of" in found.notes[0]


def test_what_differs_is_said() -> None:
    notes = like.of(planned(pipeline=4, tensor=1, strategies=("fsdp",)), "plan.json", CPUS).notes
    assert any("replicas of the pipeline average their gradients as ddp does" in note for note in notes)
    assert any("SGD with momentum instead of adamw-fused" in note for note in notes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"choice": None}, "nothing fits in this plan"),
        ({"vocabulary": None}, "an older nccltool saved this plan"),
    ],
)
def test_a_plan_that_cannot_be_trained_is_refused(change: dict[str, object], said: str) -> None:
    made = planned()
    if "vocabulary" in change:
        made.model.vocabulary = None
    else:
        made.choice = None
    with pytest.raises(BadInput, match=said):
        like.of(made, "plan.json", CPUS)


@pytest.mark.parametrize(
    ("part", "name", "value", "said"),
    [
        ("model", "layers", -3, "layers -3 is not from 1 to 1048576"),
        ("model", "width", 10**40, "width 10000"),
        ("choice", "micro_batch", 0, "micro_batch 0 is not"),
        ("degrees", "shard", 0, "shard 0 is not"),
        ("choice", "schedule", "none\x1b", r"schedule 'none\\x1b' is none of gpipe, 1f1b"),
        ("choice", "strategy", "zero9", "strategy 'zero9' is none of none, ddp"),
    ],
)
def test_a_damaged_plan_is_refused(part: str, name: str, value: object, said: str) -> None:
    made = planned()
    chosen = made.strategies[0]
    setattr({"model": made.model, "choice": chosen, "degrees": chosen.degrees}[part], name, value)
    with pytest.raises(BadInput, match=f"--like plan.json: {said}"):
        like.of(made, "plan.json", CPUS)


def test_experts_have_no_training() -> None:
    with pytest.raises(BadInput, match="no strategy like"):
        like.of(planned(256, "mixtral-8x7b", expert=8), "plan.json", CPUS)


def _experts() -> Model:
    return replace(
        EXPERTS, layers=8, width=1024, heads=16, kv_heads=16, head_width=64, hidden=4096, vocabulary=32000,
        experts=Experts(count=8, active=2, width=4096),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "strategy", "said"),
    [
        ({"tensor": 1, "expert": 4}, "moe", "8 experts in each block, of which each token has 2"),
        ({"tensor": 2, "expert": 4}, "tp_moe", "experts split within pairs of ranks"),
    ],
)
def test_split_experts_are_trained_as_ddp_has_them(wanted: dict[str, Any], strategy: str, said: str) -> None:
    made = msgspec.json.decode(
        document.to_json(plan(16, _experts(), strategies=("ddp",), context=1, pipeline=1, **wanted)),
        type=PlanDocument,
    )
    found = like.of(made, "plan.json", CPUS)
    assert found.spec.strategies == (strategy,)
    assert said in found.notes
    assert not [note for note in found.notes if "instead of experts" in note]
    # of 6 operations for each weight, the 8 experts of a block have 8 * 8, and all else 4, in squares of the width
    spec = found.spec
    assert 6 * 68 * spec.layers * spec.width**2 * spec.batch * spec.context * CPUS.ranks <= 2e9
    assert sharing.of(spec, strategy, 8).reason == ""


@pytest.mark.parametrize("wanted", [{"tensor": 4, "pipeline": 1}, {"tensor": 1, "pipeline": 2}], ids=str)
def test_experts_beside_larger_degrees_have_no_training(wanted: dict[str, Any]) -> None:
    made = msgspec.json.decode(
        document.to_json(plan(16, _experts(), strategies=("ddp",), context=1, expert=4, **wanted)),
        type=PlanDocument,
    )
    with pytest.raises(BadInput, match="no strategy like ddp"):
        like.of(made, "plan.json", CPUS)


@pytest.mark.parametrize("text", ["{", '{"schema": 1, "kind": "probe"}'])
def test_another_file_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text)
    with pytest.raises(BadInput):
        like.read(str(file))


def test_ranks_share_the_memory_of_this_host() -> None:
    one, two = (like.place(StartOptions(nproc_per_node=number), os.environ) for number in ("1", "2"))
    assert (one.ranks, two.ranks) == (1, 2)
    assert one.free_bytes is not None and two.free_bytes is not None
    assert two.free_bytes < 0.75 * one.free_bytes


def test_hosts_that_join_come_to_the_same() -> None:
    start = StartOptions(nodes=2, node_rank=0, rdzv_endpoint="n1:29500", nproc_per_node="1")
    assert like.place(start, {}) == RanksHere(ranks=2, on_gpus=False, free_bytes=None)
