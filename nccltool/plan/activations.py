"""What a layer saves for its backward pass, and what the loss does, in bytes per token. Pure.

Counted tensor by tensor for a layer as torch runs it without a compiler: what is an input of a product, of
attention, or of an activation function is saved. Attention is fused (flash): no matrix of scores. Korthikanti et
al. (arXiv 2205.05198) count the same for GPT with dropout: 34 bytes per element of the width.
"""

from nccltool.plan.model import Model
from nccltool.plan.recipe import Recipe, Recompute

_FLOAT32 = 4


def saved_by_layer(model: Model, compute_bytes: int, recompute: Recompute, has_experts: bool) -> int:
    """Bytes per token that a layer keeps from its forward to its backward pass, on one GPU with all of the
    layer."""
    elements = {"none": _all, "selective": _selective, "full": _input}[recompute](model, has_experts)
    wider = _norms_in_float32(model, compute_bytes) if recompute == "none" else 0
    return compute_bytes * elements + wider


def _all(model: Model, has_experts: bool) -> int:
    """Each norm: its output, and llama's the normalized input too; queries, keys, values, and their result; the
    MLP."""
    of_norm = 3 if model.block == "llama" else 2
    return model.norms * of_norm * model.width + _attention(model) + _mlp(model, has_experts)


def _norms_in_float32(model: Model, compute_bytes: int) -> int:
    """RMSNorm in torch works on a float32 copy of its input, which it saves in the place of the short one."""
    if model.block != "llama" or compute_bytes == _FLOAT32:
        return 0
    return model.norms * model.width * (_FLOAT32 - compute_bytes)


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
    """The input, attention's result, and the first and every second product after it, as torchtitan chooses."""
    products = 1 if not (has_experts and model.experts) else model.experts.active + model.experts.shared
    hidden = model.experts.width if has_experts and model.experts else model.hidden
    projected = model.query_width + model.kv_width if model.block == "llama" else 3 * model.query_width
    return model.width + projected + model.query_width + products * hidden


def _input(model: Model, _: bool) -> int:
    return model.width


def kept_logits(model: Model, recipe: Recipe) -> int:
    """Bytes per token that the loss saves: logits, and their float32 copy, of which log-softmax is made."""
    compute = recipe.precision.compute
    return model.vocabulary * (compute + (_FLOAT32 if compute != _FLOAT32 else 0))


def loss_temporaries(model: Model, recipe: Recipe) -> int:
    """Bytes per token that exist only while the loss is computed; a compiled loss has none."""
    return 0 if recipe.is_loss_compiled else model.vocabulary * 2 * _FLOAT32


RECOMPUTED: dict[Recompute, float] = {"none": 0.0, "selective": 0.5, "full": 1.0}
"""The share of a forward pass that the backward pass repeats: of selective, every second product."""
