"""A transformer as arithmetic sees it: its weights, what a layer saves for its backward pass, its operations.
Pure."""

from dataclasses import dataclass
from typing import Literal

Block = Literal["llama", "gpt"]
"""llama: RMSNorm, rotary positions, a gated MLP, no biases. gpt: LayerNorm, learned positions, biases."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LatentAttention:
    """Queries, keys, and values through narrow projections (multi-head latent attention of DeepSeek)."""

    query_rank: int
    """0: queries have no narrow projection."""
    key_value_rank: int
    plain: int
    """Of a head's queries and keys: the part without a position."""
    rotary: int
    value: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Experts:
    """The MLPs of a mixture-of-experts layer."""

    count: int
    active: int
    """How many the router chooses for a token."""
    width: int
    """Hidden width of one."""
    shared: int = 0
    """Those that see every token."""
    dense_layers: int = 0
    """The first layers, which have an ordinary MLP instead."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Model:
    """The shape of a decoder. Widths are numbers of elements."""

    name: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    head_width: int
    hidden: int
    """Of the MLP."""
    vocabulary: int
    is_tied: bool = False
    """Whether the output projection is the embedding."""
    block: Block = "llama"
    is_gated: bool = True
    """Three matrices in an MLP instead of two."""
    positions: int = 0
    """Rows of a learned table of positions; 0: rotary."""
    norms: int = 2
    """In a layer; 1 where attention and MLP run side by side, as in PaLM."""
    experts: Experts | None = None
    latent: LatentAttention | None = None
    source: str = ""

    @property
    def query_width(self) -> int:
        return self.heads * self.head_width

    @property
    def kv_width(self) -> int:
        """Of keys, and of values."""
        return self.kv_heads * self.head_width

    @property
    def expert_layers(self) -> int:
        return self.layers - self.experts.dense_layers if self.experts else 0

    @property
    def norm_weights(self) -> int:
        """Of one norm."""
        return self.width * (2 if self.block == "gpt" else 1)

    @property
    def attention_weights(self) -> int:
        """Of a layer."""
        if latent := self.latent:
            query = latent.plain + latent.rotary
            into = (
                self.width * latent.query_rank + latent.query_rank + latent.query_rank * self.heads * query
                if latent.query_rank
                else self.width * self.heads * query
            )
            narrow = self.width * (latent.key_value_rank + latent.rotary) + latent.key_value_rank
            wide = latent.key_value_rank * self.heads * (latent.plain + latent.value)
            return into + narrow + wide + self.heads * latent.value * self.width
        weights = 2 * self.width * (self.query_width + self.kv_width)
        return weights + (self.query_width + 2 * self.kv_width + self.width if self.block == "gpt" else 0)

    def mlp_weights(self, hidden: int) -> int:
        """Of one MLP with this hidden width."""
        biases = (hidden * (2 if self.is_gated else 1) + self.width) if self.block == "gpt" else 0
        return (3 if self.is_gated else 2) * self.width * hidden + biases

    @property
    def dense_layer_weights(self) -> int:
        """Of a layer with an ordinary MLP."""
        return self.attention_weights + self.mlp_weights(self.hidden) + self.norms * self.norm_weights

    @property
    def shared_layer_weights(self) -> int:
        """Of a layer with experts, without those that the router chooses from."""
        if not self.experts:
            return self.dense_layer_weights
        shared = self.mlp_weights(self.experts.width) * self.experts.shared
        router = self.width * self.experts.count
        return self.attention_weights + self.norms * self.norm_weights + router + shared

    @property
    def routed_layer_weights(self) -> int:
        """Of the experts of a layer that the router chooses from."""
        return self.mlp_weights(self.experts.width) * self.experts.count if self.experts else 0

    @property
    def embedding_weights(self) -> int:
        return (self.vocabulary + self.positions) * self.width

    @property
    def head_weights(self) -> int:
        """Of the output projection, where it is not the embedding, and of the norm before it."""
        return (0 if self.is_tied else self.vocabulary * self.width) + self.norm_weights

    @property
    def parameters(self) -> int:
        """All weights."""
        dense = (self.layers - self.expert_layers) * self.dense_layer_weights
        experts = self.expert_layers * (self.shared_layer_weights + self.routed_layer_weights)
        return dense + experts + self.embedding_weights + self.head_weights

    @property
    def active_parameters(self) -> int:
        """Weights that a token meets."""
        if not self.experts:
            return self.parameters
        idle = self.mlp_weights(self.experts.width) * (self.experts.count - self.experts.active)
        return self.parameters - self.expert_layers * idle

    def flop_per_token(self, sequence: int) -> float:
        """Of a forward and a backward pass: 6 for each weight in a product, and attention over the whole sequence.

        As in appendix B of the PaLM paper (arXiv 2204.02311): attention counts in full although it is causal.
        What recomputation repeats does not count.
        """
        in_products = self.active_parameters - self.embedding_weights + self._tied_head
        query = self.heads * (self.latent.plain + self.latent.rotary) if self.latent else self.query_width
        value = self.heads * self.latent.value if self.latent else self.query_width
        return 6 * in_products + 6 * self.layers * (query + value) * sequence

    @property
    def _tied_head(self) -> int:
        """A tied embedding is also a product."""
        return self.vocabulary * self.width if self.is_tied else 0
