"""The model of smoke training runs: a small transformer that predicts the next token, as a list of equal parts.

It has what large ones have (embeddings, attention, a feed-forward part, residuals, norms), in the names that
tensor parallelism splits by. The parts follow each other, so a pipeline can be cut between any two.
"""

import torch
import torch.nn.functional as functional
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from nccltool.train.job import TrainSpec
from nccltool.train.strategies import ddp
from nccltool.worker.train import lora
from nccltool.worker.train.batch_norm import TokenNorm
from nccltool.worker.train.experts import RoutedExperts


class Embed(nn.Module):
    """Tokens and their places to vectors."""

    def __init__(self, spec: TrainSpec) -> None:
        super().__init__()
        self.token = nn.Embedding(spec.vocabulary, spec.width)
        self.place = nn.Embedding(spec.context, spec.width)
        self.first_place = 0
        """Of the tokens that come here, where a rank has only some of a sequence."""

    def forward(self, tokens: Tensor) -> Tensor:
        """(batch, context) to (batch, context, width)."""
        places = torch.arange(self.first_place, self.first_place + tokens.shape[1], device=tokens.device)
        vectors: Tensor = self.token(tokens) + self.place(places)
        return vectors


def attend(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """What each token takes from those before it; all are (batch, heads, context, width)."""
    return functional.scaled_dot_product_attention(query, key, value, is_causal=True)


def norm(spec: TrainSpec) -> nn.Module:
    return TokenNorm(spec.width) if spec.of(ddp.Options).sync_batch_norm else nn.LayerNorm(spec.width)


class Block(nn.Module):
    """Attention and a feed-forward part, each behind a norm and beside a residual."""

    def __init__(self, spec: TrainSpec) -> None:
        super().__init__()
        self.head_width = spec.width // spec.heads
        self.attend = attend
        self.recompute, self.has_experts = spec.recompute, spec.experts > 0
        self.norm1, self.norm2 = norm(spec), norm(spec)
        self.query, self.key, self.value, self.out = (nn.Linear(spec.width, spec.width) for _ in range(4))
        if self.has_experts:
            self.experts = RoutedExperts(spec)
        else:
            self.up, self.down = nn.Linear(spec.width, 4 * spec.width), nn.Linear(4 * spec.width, spec.width)

    def forward(self, x: Tensor) -> Tensor:
        """Same shape in and out."""
        if self.recompute:
            again: Tensor = checkpoint(self._forward, x, use_reentrant=False)
            return again
        return self._forward(x)

    def _forward(self, x: Tensor) -> Tensor:
        normed = self.norm1(x)
        query, key, value = (self._heads(part(normed)) for part in (self.query, self.key, self.value))
        attended = self.attend(query, key, value)
        x = x + self.out(attended.transpose(1, 2).flatten(2))
        return x + self._feed(self.norm2(x))

    def _feed(self, x: Tensor) -> Tensor:
        fed: Tensor = self.experts(x) if self.has_experts else self.down(functional.gelu(self.up(x)))
        return fed

    def _heads(self, x: Tensor) -> Tensor:
        # the number of heads is what is left: tensor parallelism gives a rank some of them
        return x.unflatten(-1, (-1, self.head_width)).transpose(1, 2)


class Head(nn.Module):
    """Vectors to scores of the next token."""

    def __init__(self, spec: TrainSpec) -> None:
        super().__init__()
        self.norm = norm(spec)
        self.score = nn.Linear(spec.width, spec.vocabulary, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, context, width) to (batch, context, vocabulary)."""
        scores: Tensor = self.score(self.norm(x))
        return scores


def make(spec: TrainSpec) -> nn.Sequential:
    """The model, on the CPU, with the same values in every process that uses the same seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(spec.seed)
        model = nn.Sequential(Embed(spec), *(Block(spec) for _ in range(spec.layers)), Head(spec))
        lora.adapt(model, spec)
    return model.to(getattr(torch, spec.dtype) if spec.dtype == "float64" else torch.float32)


def sgd(spec: TrainSpec, model: nn.Module) -> torch.optim.SGD:
    """Plain SGD: Adam would hide a wrong scale of the gradients."""
    parameters = lora.trained(model)
    # on CUDA torch steps all of them in one call, which refuses DTensors beside plain tensors
    is_mixed = len({type(parameter) for parameter in parameters}) > 1
    return torch.optim.SGD(
        parameters, lr=spec.learning_rate, momentum=spec.momentum, foreach=False if is_mixed else None
    )


def scores_in(dtype: str, model: nn.Module, tokens: Tensor) -> Tensor:
    """What a model says that no strategy wraps, in the type that one would gather the parameters in."""
    lower: dict[str, Tensor] = {}
    if dtype:
        lower = {name: p.to(getattr(torch, dtype)) for name, p in model.named_parameters()}
    scores: Tensor = torch.func.functional_call(model, lower, (tokens,)) if lower else model(tokens)
    return scores


def loss_of(scores: Tensor, targets: Tensor) -> Tensor:
    """Mean cross entropy over all tokens, in at least float32."""
    return functional.cross_entropy(
        scores.flatten(0, 1).to(torch.promote_types(scores.dtype, torch.float32)), targets.flatten()
    )


def tokens_of(spec: TrainSpec, number: int, sequences: int) -> Tensor:
    """The global batch of a step, (sequences, context + 1), the same in every process."""
    generator = torch.Generator().manual_seed(spec.seed * 1_000_003 + number)
    return torch.randint(spec.vocabulary, (sequences, spec.context + 1), generator=generator)
