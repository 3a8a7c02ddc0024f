"""How a model is spread over GPUs: the degrees of each kind of parallelism, and what makes them possible. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from nccltool.plan.model import Model
from nccltool.plan.recipe import Recipe, Recompute
from nccltool.train import pipeline_schedules

Sharding = Literal["none", "optimizer", "gradients", "parameters"]
"""What data-parallel ranks split among them: nothing (DDP), or the stages 1 to 3 of ZeRO; the last is FSDP."""
_WORDS: dict[Sharding, str] = {
    "none": "ddp",
    "optimizer": "zero1",
    "gradients": "zero2",
    "parameters": "fsdp",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class ParallelLayout:
    """Degrees; their product, without that of experts, is the number of GPUs."""

    replicate: int = 1
    """Data-parallel groups that have all of it each."""
    shard: int = 1
    """Data-parallel ranks that split the state."""
    sharding: Sharding = "none"
    tensor: int = 1
    context: int = 1
    pipeline: int = 1
    expert: int = 1
    schedule: str = "1f1b"
    """One of nccltool.train.pipeline_schedules."""
    stages_per_rank: int | None = None
    """Of the pipeline; None: as many as the schedule has."""
    micro_batch: int = 1
    recompute: Recompute = "none"
    ends_apart: bool = False
    """FSDP gathers the embedding and the output each by itself, as `nccltool train`, instead of both once."""

    @property
    def gpus(self) -> int:
        return self.data * self.tensor * self.context * self.pipeline

    @property
    def data(self) -> int:
        """Ranks that see different sequences."""
        return self.replicate * self.shard

    @property
    def sharers(self) -> int:
        """Ranks that split the state: those of context parallelism have the same weights and join in."""
        return self.shard * self.context if self.sharding != "none" else 1

    @property
    def expert_replicas(self) -> int:
        """Ranks that have the same experts: those of tensor parallelism too, since experts are whole.

        The expert data parallelism of Megatron-Core with expert tensor parallelism 1 (arXiv 2504.14960).
        """
        return self.data * self.context * self.tensor // self.expert

    @property
    def expert_sharers(self) -> int:
        """Of these, the ranks that split the state of their experts."""
        return self.sharers * self.tensor // self.expert if self.sharding != "none" else 1

    @property
    def has_expert_groups(self) -> bool:
        """Whether other ranks have the same experts than have the same of everything else."""
        return self.expert > 1 or self.tensor > 1

    @property
    def stages(self) -> int:
        """Of the pipeline that a rank has."""
        return pipeline_schedules.stages_of(self.schedule, self.stages_per_rank) if self.pipeline > 1 else 1

    @property
    def strategy(self) -> str:
        """The word for how data-parallel ranks split the state."""
        if self.sharding == "parameters" and self.replicate > 1:
            return "hsdp"
        if self.sharding == "none" and self.data == 1:
            return "none"
        return _WORDS[self.sharding]

    @property
    def name(self) -> str:
        """Such as fsdp8+tp4+pp2; hsdp4x8 has four replicas of eight shards each."""
        word = self.strategy
        degrees = f"{self.replicate}x{self.shard}" if word == "hsdp" else str(self.data)
        between = "-" if word.startswith("zero") else ""  # zero2-8 is no zero28
        parts = [] if word == "none" else [f"{word}{between}{degrees}" if self.data > 1 else word]
        for short, degree in (
            ("tp", self.tensor),
            ("cp", self.context),
            ("pp", self.pipeline),
            ("ep", self.expert),
        ):
            if degree > 1:
                parts.append(f"{short}{degree}")
        return "+".join(parts) or "one GPU"

    def is_autocast(self, recipe: Recipe) -> bool:
        """FSDP casts parameters that it gathers; else autocast casts for each product, and residuals stay long."""
        return self.sharding != "parameters" and recipe.precision.compute < recipe.precision.parameter

    def micro_batches(self, recipe: Recipe) -> int:
        """Of each data-parallel rank in a step; 0: they do not come out even."""
        each, rest = divmod(recipe.global_batch, self.data * self.micro_batch)
        return 0 if rest else each


def impossible(layout: ParallelLayout, model: Model, recipe: Recipe) -> Iterator[str]:
    """Why a layout cannot be, one sentence each."""
    tensor, context = layout.tensor, layout.context
    if model.heads % tensor or (model.kv_heads % tensor and tensor % model.kv_heads):
        yield f"{model.heads} heads ({model.kv_heads} for keys and values) cannot be split over tp {tensor}"
    if model.hidden % tensor or model.vocabulary < tensor:
        yield f"the hidden width {model.hidden} cannot be split over tp {tensor}"
    if context > 1 and recipe.sequence % (2 * context):
        yield f"--sequence {recipe.sequence} cannot be split over cp {context}: use a multiple of {2 * context}"
    if layout.pipeline * layout.stages > model.layers:
        stages = layout.pipeline * layout.stages
        yield f"{model.layers} layers are fewer than the {stages} stages of pp {layout.pipeline}"
    if layout.expert > 1 and not model.experts:
        yield f"ep {layout.expert} needs experts, and {model.name} has none"
    elif model.experts and model.experts.count % layout.expert:
        yield f"{model.experts.count} experts cannot be split over ep {layout.expert}"
    among = layout.data * layout.context if layout.sharding == "none" else layout.sharers
    if layout.expert > 1 and among % layout.expert:
        which = "ranks that split the state" if layout.strategy == "hsdp" else "data-parallel ranks"
        yield f"ep {layout.expert} must divide the {among} {which}"
    if recipe.is_offloaded and layout.sharding == "none":
        yield "--offload is for data-parallel ranks that split their state: zero1, zero2, fsdp, hsdp"
    if not layout.micro_batches(recipe):
        yield (
            f"--step-sequences {recipe.global_batch} cannot be split over {layout.data} data-parallel ranks "
            f"with {layout.micro_batch} sequences each"
        )
    elif layout.pipeline > 1 and _bubble_of(layout, recipe) is None:
        yield f"{layout.micro_batches(recipe)} micro-batches do not fill the schedule {layout.schedule}"
    elif (
        layout.pipeline > 1 and layout.schedule == "interleaved" and layout.micro_batches(recipe) % layout.pipeline
    ):
        yield f"the schedule interleaved needs a multiple of pp {layout.pipeline} micro-batches"


def _bubble_of(layout: ParallelLayout, recipe: Recipe) -> float | None:
    return pipeline_schedules.bubble(layout.schedule, layout.pipeline, layout.micro_batches(recipe), layout.stages)
