"""What a layer saves for its backward pass, and what the loss does, in bytes per token. Pure.

Counted tensor by tensor for a layer as torch runs it without a compiler: what is an input of a product, of
attention, or of an activation function is saved. Attention is fused (flash): no matrix of scores. Korthikanti et
al. (arXiv 2205.05198) count the same for GPT with dropout: 34 bytes per element of the width.
"""

from dataclasses import dataclass

from nccltool.plan.model import Model
from nccltool.plan.recipe import Precision, Recipe, Recompute

_FLOAT32 = 4


@dataclass(frozen=True, slots=True)
class SavedBytes:
    """Bytes per token that a layer keeps from its forward to its backward pass."""

    split: int
    """Ranks of tensor parallelism have a part each."""
    gathered: int
    """They have all of it each: torch saves what it gathered for a product; Megatron-LM gathers again."""

    def of(self, tensor: int) -> float:
        """On each of so many ranks."""
        return self.split / tensor + self.gathered


def saved_by_layer(
    model: Model, precision: Precision, recompute: Recompute, has_experts: bool, is_autocast: bool
) -> SavedBytes:
    """`is_autocast`: products alone are in a short type; residuals and norms stay in float32."""
    stream = _FLOAT32 if is_autocast else precision.compute
    if recompute == "full":
        return SavedBytes(stream * model.width, 0)
    if recompute == "selective":
        return SavedBytes(precision.compute * _selective(model, has_experts) + stream * model.width, 0)
    products = precision.compute * (_attention(model) + _mlp(model, has_experts)) + _FLOAT32 * model.heads
    return SavedBytes(
        model.norms * _norm(model, stream) + products,
        _gathered(model, precision, has_experts, is_autocast),
    )


def _norm(model: Model, stream: int) -> int:
    """Its input, of which llama's works on a float32 copy, and what it normalized, before the weight."""
    return model.width * (_FLOAT32 + stream if model.block == "llama" else stream)


def _gathered(model: Model, precision: Precision, has_experts: bool, is_autocast: bool) -> int:
    """What norms give to products. Autocast makes a copy for each of them."""
    of_mlp = 2 if model.is_gated else 1
    copies = 3 + of_mlp if is_autocast else model.norms
    return precision.compute * model.width * copies


def saved_at_the_end(model: Model, precision: Precision, is_autocast: bool) -> SavedBytes:
    """Of the last norm, before the output projection."""
    stream = _FLOAT32 if is_autocast else precision.compute
    return SavedBytes(_norm(model, stream), precision.compute * model.width)


def _attention(model: Model) -> int:
    """Queries, keys, and values (those of grouped heads are repeated for each query head), and their result."""
    if latent := model.latent:
        narrow = latent.query_rank + latent.key_value_rank
        return narrow + model.heads * (2 * (latent.plain + latent.rotary) + 2 * latent.value)
    return 4 * model.query_width


def _mlp(model: Model, has_experts: bool) -> int:
    """Gated: both products, the activation, and what they make together; else the product and its activation."""
    tensors = 4 if model.is_gated else 2
    if has_experts and (experts := model.experts):
        return (experts.active + experts.shared) * (model.width + tensors * experts.width)
    return tensors * model.hidden


def _selective(model: Model, has_experts: bool) -> int:
    """Attention's result, and the first and every second product after it, as torchtitan chooses."""
    products = 1 if not (has_experts and model.experts) else model.experts.active + model.experts.shared
    hidden = model.experts.width if has_experts and model.experts else model.hidden
    projected = model.query_width + model.kv_width if model.block == "llama" else 3 * model.query_width
    return projected + model.query_width + products * hidden


def kept_logits(model: Model, recipe: Recipe) -> int:
    """Bytes per token that the loss saves: logits, and their float32 copy, of which log-softmax is made."""
    compute = recipe.precision.compute
    return model.vocabulary * (compute + (_FLOAT32 if compute != _FLOAT32 else 0))


def loss_temporaries(model: Model, recipe: Recipe) -> int:
    """Bytes per token that exist only while the loss is computed; a compiled loss has none."""
    return 0 if recipe.is_loss_compiled else model.vocabulary * 2 * _FLOAT32


RECOMPUTED: dict[Recompute, float] = {"none": 0.0, "selective": 0.5, "full": 1.0}
"""The share of a forward pass that the backward pass repeats: of selective, every second product."""
