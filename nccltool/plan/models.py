"""Which model a word means: a name of checks/models, a file, or a size such as 7B."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from nccltool.core import user_files
from nccltool.core.errors import BadInput
from nccltool.core.text import shortened
from nccltool.core.unknown_names import unknown
from nccltool.plan.model import Experts, LatentAttention, Model
from nccltool.preflight import suite_reader
from nccltool.preflight import suite_toml as toml

_MOST = 2**24
_WHOLE = toml.whole(1, _MOST)
_MODEL: Mapping[str, toml.Convert] = {
    "layers": _WHOLE,
    "width": _WHOLE,
    "heads": _WHOLE,
    "kv_heads": _WHOLE,
    "head_width": _WHOLE,
    "hidden": _WHOLE,
    "vocabulary": _WHOLE,
    "positions": toml.whole(0, _MOST),
    "norms": toml.whole(1, 4),
    "tied": toml.flag,
    "gated": toml.flag,
    "block": toml.word(("llama", "gpt")),
    "source": toml.text,
}
_NEEDED = ("layers", "width", "heads", "hidden", "vocabulary")
_EXPERTS = {name: toml.whole(0, _MOST) for name in ("count", "active", "width", "shared", "dense_layers")}
_LATENT = {name: toml.whole(0, _MOST) for name in ("query_rank", "key_value_rank", "plain", "rotary", "value")}
_SIZE = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([MBT])", re.IGNORECASE)
_TIMES = {"M": 1e6, "B": 1e9, "T": 1e12}


def catalogue() -> Path:
    return suite_reader.folder() / "models"


def names() -> tuple[str, ...]:
    """Of the models that come with nccltool."""
    return tuple(file.stem for file in sorted(catalogue().glob("*.toml")))


def of_word(word: str) -> Model:
    """Raises BadInput."""
    if size := _SIZE.fullmatch(word):
        return _of_size(word, float(size[1]) * _TIMES[size[2].upper()])
    if "/" in word or word.endswith((".json", ".toml")):
        path = Path(word)
        if path.is_dir():  # of a model of Hugging Face, as transformers takes it
            return _of_config(path / "config.json")
        return _of_config(path) if word.endswith(".json") else of_toml(path)
    named = word.lower()
    if named not in names():
        raise unknown(
            "model",
            word,
            names(),
            "nccltool checks list shows the names; give a size (7B), config.json, or ./FILE.toml",
        )
    return of_toml(catalogue() / f"{named}.toml")


def of_toml(file: Path) -> Model:
    """A model of checks/models, or one of the user's. Raises BadInput with the first mistake."""
    reader = toml.opened(file, "the model")
    top = {"schema": toml.whole(1, 1), "title": toml.text, "model": _table, "experts": _table, "latent": _table}
    reader.table((), reader.data, top)
    reader.needed((), reader.data, ("schema", "title", "model"))
    shape = reader.table(("model",), reader.data.get("model", {}), _MODEL)
    reader.needed(("model",), reader.data.get("model", {}), _NEEDED)
    parts = {}
    for name, keys in (("experts", _EXPERTS), ("latent", _LATENT)):
        if name in reader.data:
            parts[name] = reader.table((name,), reader.data[name], keys)
            reader.needed(
                (name,), reader.data[name], ("count", "active", "width") if name == "experts" else tuple(keys)
            )
    reader.done()
    experts = Experts(**parts["experts"]) if "experts" in parts else None
    latent = LatentAttention(**parts["latent"]) if "latent" in parts else None
    return _checked(str(file), _made(file.stem, shape, experts, latent))


def _table(value: object) -> object:
    if not isinstance(value, dict):
        raise toml.WrongValue("must be a table in brackets")
    return value


def _made(name: str, shape: Mapping[str, Any], experts: Experts | None, latent: LatentAttention | None) -> Model:
    width, heads = shape["width"], shape["heads"]
    rest = {key: shape[key] for key in ("positions", "norms", "block", "source") if key in shape}
    return Model(
        name=name,
        layers=shape["layers"],
        width=width,
        heads=heads,
        kv_heads=shape.get("kv_heads", heads),
        head_width=shape.get("head_width", width // heads),
        hidden=shape["hidden"],
        vocabulary=shape["vocabulary"],
        is_tied=shape.get("tied", False),
        is_gated=shape.get("gated", True),
        experts=experts,
        latent=latent,
        **rest,
    )


def _checked(where: str, model: Model) -> Model:
    """Raises BadInput for a shape that no transformer has."""
    if model.heads % model.kv_heads:
        raise BadInput(
            f"{where}: {model.heads} heads cannot share {model.kv_heads} key and value heads", "use a divisor"
        )
    if model.head_width < 1 or (model.head_width * model.heads != model.width and model.width % model.heads):
        raise BadInput(
            f"{where}: the width {model.width} cannot be divided by {model.heads} heads", "set head_width"
        )
    experts = model.experts
    if experts and not 0 < experts.active <= experts.count:
        raise BadInput(
            f"{where}: {experts.active} active experts of {experts.count}", "use at most as many as there are"
        )
    if experts and experts.dense_layers >= model.layers:
        raise BadInput(
            f"{where}: {experts.dense_layers} dense layers of {model.layers}", "use fewer than there are layers"
        )
    return model


_CONFIG = {
    "layers": ("num_hidden_layers", "n_layer"),
    "width": ("hidden_size", "n_embd"),
    "heads": ("num_attention_heads", "n_head"),
    "hidden": ("intermediate_size", "n_inner"),
    "vocabulary": ("vocab_size",),
}
"""What Hugging Face calls each of them."""
_KNOWN = {
    "llama": "llama",
    "mistral": "llama",
    "qwen2": "llama",
    "qwen3": "llama",
    "mixtral": "llama",
    "deepseek_v3": "llama",
    "qwen3_moe": "llama",
    "gpt2": "gpt",
}
"""model_type -> the kind of its blocks."""


def _of_config(path: Path) -> Model:
    """The config.json of a model on Hugging Face. Raises BadInput."""
    text = user_files.contents(str(path), "MODEL", remedy="give a config.json, a name, or a size such as 7B")
    try:
        config = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not JSON: {error}", "give the config.json of a model") from error
    kind = config.get("model_type") if isinstance(config, dict) else None
    if not isinstance(kind, str) or kind not in _KNOWN:
        raise BadInput(
            f"{path}: model_type {shortened(repr(kind), 40)} is not supported",
            f"supported: {', '.join(_KNOWN)}; or describe the model in a TOML file as in checks/models",
        )
    shape: dict[str, Any] = {
        name: _number(path, config, keys) for name, keys in _CONFIG.items() if kind != "gpt2" or name != "hidden"
    }
    if kind == "gpt2":
        shape["hidden"] = _optional(path, config, "n_inner") or 4 * shape["width"]
        shape |= {
            "positions": _number(path, config, ("n_positions",)),
            "gated": False,
            "tied": True,
            "block": "gpt",
        }
    else:
        shape["tied"] = config.get("tie_word_embeddings", kind == "qwen2") is True
        shape |= {
            ours: value
            for ours, theirs in (("kv_heads", "num_key_value_heads"), ("head_width", "head_dim"))
            if (value := _optional(path, config, theirs))
        }
    experts, latent = _experts(path, config, kind), _latent(path, config) if kind == "deepseek_v3" else None
    return _checked(str(path), _made(path.parent.name or path.stem, shape, experts, latent))


def _experts(path: Path, config: Mapping[str, Any], kind: str) -> Experts | None:
    count = next(
        (config[key] for key in ("num_local_experts", "n_routed_experts", "num_experts") if config.get(key)), 0
    )
    if not count:
        return None
    width = _optional(path, config, "moe_intermediate_size") or _number(path, config, ("intermediate_size",))
    return Experts(
        count=_number(path, {"experts": count}, ("experts",)),
        active=_number(path, config, ("num_experts_per_tok",)),
        width=width,
        shared=_optional(path, config, "n_shared_experts") or 0,
        dense_layers=_optional(path, config, "first_k_dense_replace") or 0,
    )


def _latent(path: Path, config: Mapping[str, Any]) -> LatentAttention:
    return LatentAttention(
        query_rank=_optional(path, config, "q_lora_rank") or 0,
        key_value_rank=_number(path, config, ("kv_lora_rank",)),
        plain=_number(path, config, ("qk_nope_head_dim",)),
        rotary=_number(path, config, ("qk_rope_head_dim",)),
        value=_number(path, config, ("v_head_dim",)),
    )


def _number(path: Path, config: Mapping[str, Any], keys: tuple[str, ...]) -> int:
    value = next((config[key] for key in keys if config.get(key) is not None), None)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MOST:
        raise BadInput(
            f"{path}: {keys[0]} is {shortened(repr(value), 40)}, expected a whole number from 1 to {_MOST}",
            "give the config.json as it is published",
        )
    return value


def _optional(path: Path, config: Mapping[str, Any], key: str) -> int | None:
    return _number(path, config, (key,)) if config.get(key) else None


_VOCABULARY = 32_000


def _of_size(word: str, parameters: float) -> Model:
    """A model in the proportions of Llama: heads of 128, a hidden width of 8/3, 32 layers per 4,096 of the
    width."""
    if not 1e7 <= parameters <= 1e14:
        raise BadInput(f"MODEL {word} is not a usual size", "give a size from 10M to 100T, for example 7B")
    width = min(range(256, 2**18, 128), key=lambda one: abs(_shaped(word, one, 0).parameters - parameters))
    layers = max(1, _shaped(word, width, 0).layers)
    around = range(max(1, layers // 2), 2 * layers + 2)
    best = min(around, key=lambda one: abs(_shaped(word, width, one).parameters - parameters))
    return replace(_shaped(word, width, best), source=f"proportions of Llama 2 for {word} parameters")


def _shaped(name: str, width: int, layers: int) -> Model:
    heads = max(1, width // 128)
    return Model(
        name=name,
        layers=layers or max(1, round(width / 128)),
        width=width,
        heads=heads,
        kv_heads=heads,
        head_width=128,
        hidden=-(-8 * width // 3 // 256) * 256,
        vocabulary=_VOCABULARY,
    )
