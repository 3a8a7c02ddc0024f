"""A planned model in torch: the blocks that the arithmetic of plans is about, as torchtitan and GPT have them."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as functional
from torch import Tensor, nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from nccltool.plan.model import Model
from nccltool.plan.recipe import Recompute

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """All are (batch, heads, tokens, width); heads of keys and values are repeated for each head of queries."""
    times = query.shape[1] // key.shape[1]
    key, value = (one.repeat_interleave(times, 1) if times > 1 else one for one in (key, value))
    return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


class PlannedBlock(nn.Module):
    """Attention and an MLP, each behind a norm and beside a residual. Parameters are in the order of their use."""

    def __init__(self, model: Model, recompute: Recompute) -> None:
        super().__init__()
        width, has_biases = model.width, model.block == "gpt"
        self.head_width, self.recompute = model.head_width, recompute
        self.attend: Attend = attend
        self.norm1 = norm(model)
        self.query = nn.Linear(width, model.query_width, bias=has_biases)
        self.key, self.value = (nn.Linear(width, model.kv_width, bias=has_biases) for _ in range(2))
        self.out = nn.Linear(model.query_width, width, bias=has_biases)
        self.norm2 = norm(model)
        self.gate = nn.Linear(width, model.hidden, bias=has_biases) if model.is_gated else None
        self.up = nn.Linear(width, model.hidden, bias=has_biases)
        self.down = nn.Linear(model.hidden, width, bias=has_biases)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape in and out."""
        if self.recompute == "none":
            return self._forward(x)
        extra = {"context_fn": _selective} if self.recompute == "selective" else {}
        again: Tensor = checkpoint(self._forward, x, use_reentrant=False, **extra)
        return again

    def _forward(self, x: Tensor) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (self._heads(part(normed)) for part in (self.query, self.key, self.value))
        attended = self.attend(query, key, value)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        normed = self.norm2(x)
        if self.gate is None:
            return x + self.down(functional.gelu(self.up(normed)))
        return x + self.down(functional.silu(self.gate(normed)) * self.up(normed))

    def _heads(self, x: Tensor) -> Tensor:
        # the number of heads is what is left: tensor parallelism gives a rank some of them
        return x.unflatten(-1, (-1, self.head_width)).transpose(1, 2)


def _selective() -> Any:
    """As torchtitan: attention and every second product are stored."""
    seen: Counter[str] = Counter()

    def policy(context: Any, function: Any, *_: Any, **__: Any) -> CheckpointPolicy:
        name = function.overloadpacket.__name__
        when = "again" if context.is_recompute else "first"
        seen[when] += name == "mm"
        is_kept = "scaled_dot_product" in name or (name == "mm" and seen[when] % 2)
        return CheckpointPolicy.MUST_SAVE if is_kept else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


class RootMeanSquareNorm(nn.Module):
    """As Hugging Face and torchtitan have it; torch's own differs in what it stores, from version to version."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-6)
        scaled: Tensor = normed.type_as(x) * self.weight
        return scaled


def norm(model: Model) -> nn.Module:
    return nn.LayerNorm(model.width) if model.block == "gpt" else RootMeanSquareNorm(model.width)


class PlannedEmbedding(nn.Module):
    """Tokens, and learned positions where the model has them, to vectors."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.token = nn.Embedding(model.vocabulary, model.width)
        self.place = nn.Embedding(model.positions, model.width) if model.positions else None

    def forward(self, tokens: Tensor) -> Tensor:
        vectors: Tensor = self.token(tokens)
        if self.place is None:
            return vectors
        placed: Tensor = vectors + self.place(torch.arange(tokens.shape[1], device=tokens.device))
        return placed


class PlannedHead(nn.Module):
    """Vectors to scores of the next token."""

    def __init__(self, model: Model, table: nn.Embedding | None) -> None:
        """`table`: of the embedding, where the model has one for both."""
        super().__init__()
        self.norm = norm(model)
        self.score = nn.Linear(model.width, model.vocabulary, bias=False)
        if table is not None:
            self.score.weight = table.weight

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.score(self.norm(x))
        return scores


class PlannedStage(nn.Module):
    """Some layers, with the embedding or the head where they are the first or the last."""

    def __init__(self, model: Model, layers: int, is_first: bool, is_last: bool, recompute: Recompute) -> None:
        super().__init__()
        self.embedding = PlannedEmbedding(model) if is_first else None
        self.blocks = nn.ModuleList(PlannedBlock(model, recompute) for _ in range(layers))
        table = self.embedding.token if self.embedding is not None and model.is_tied else None
        self.head = PlannedHead(model, table) if is_last else None

    def forward(self, x: Tensor) -> Tensor:
        """Tokens or vectors to vectors or scores."""
        if self.embedding is not None:
            x = self.embedding(x)
        for block in self.blocks:
            x = block(x)
        return x if self.head is None else self.head(x)


def loss_of(scores: Tensor, targets: Tensor) -> Any:
    return functional.cross_entropy(scores.flatten(0, 1).float(), targets.flatten())
