import json
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.plan import models

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}
GPT2 = {
    "model_type": "gpt2",
    "n_layer": 12,
    "n_embd": 768,
    "n_head": 12,
    "n_positions": 1024,
    "n_inner": None,
    "vocab_size": 50257,
}
MIXTRAL = {
    **LLAMA,
    "model_type": "mixtral",
    "vocab_size": 32000,
    "num_local_experts": 8,
    "num_experts_per_tok": 2,
}
DEEPSEEK = {
    **LLAMA,
    "model_type": "deepseek_v3",
    "num_hidden_layers": 61,
    "hidden_size": 7168,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "intermediate_size": 18432,
    "vocab_size": 129280,
    "n_routed_experts": 256,
    "num_experts_per_tok": 8,
    "n_shared_experts": 1,
    "moe_intermediate_size": 2048,
    "first_k_dense_replace": 3,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}


@pytest.mark.parametrize(
    ("config", "same_as"),
    [(LLAMA, "llama-3-8b"), (GPT2, "gpt2"), (MIXTRAL, "mixtral-8x7b"), (DEEPSEEK, "deepseek-v3")],
    ids=["llama", "gpt2", "mixtral", "deepseek"],
)
def test_a_config_of_hugging_face_is_the_same_model(
    config: dict[str, object], same_as: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert models.of_word(str(tmp_path / "config.json")).parameters == models.of_word(same_as).parameters


@pytest.mark.parametrize(
    ("word", "parameters"),
    [("125M", 125e6), ("1.3b", 1.3e9), ("7B", 7e9), ("13B", 13e9), ("70B", 70e9), ("1T", 1e12)],
)
def test_a_size_is_a_model_of_about_that_size(word: str, parameters: float) -> None:
    model = models.of_word(word)
    assert model.parameters == pytest.approx(parameters, rel=0.04)
    assert model.width % model.heads == 0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "bert"}, "model_type 'bert' is not supported"),
        ({"hidden_size": "4096"}, "hidden_size is '4096', expected a whole number"),
        ({"num_hidden_layers": -1}, "num_hidden_layers is -1"),
        ({"num_key_value_heads": 5}, "32 heads cannot share 5 key and value heads"),
        ({"num_attention_heads": 33, "num_key_value_heads": 33}, "cannot be divided by 33 heads"),
        ({"vocab_size": 10**30}, "vocab_size is 1"),
    ],
)
def test_a_config_that_cannot_be_is_one_sentence(change: dict[str, object], said: str, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps(LLAMA | change))
    with pytest.raises(BadInput) as raised:
        models.of_word(str(file))
    assert said in raised.value.message
    assert str(file) in raised.value.message


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000, '{"model_type": ["llama"]}', "\x00"])
def test_what_is_no_config_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(BadInput):
        models.of_word(str(file))


@pytest.mark.parametrize(
    ("word", "remedy"),
    [("llama-3-9b", "did you mean llama-3-8b?"), ("0.001M", "10M to 100T"), ("7Q", "give a size")],
)
def test_a_word_that_is_no_model_is_refused(word: str, remedy: str) -> None:
    with pytest.raises(BadInput) as raised:
        models.of_word(word)
    assert remedy in raised.value.remedy


def test_a_file_names_the_mistake_and_its_line(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text((models.catalogue() / "gpt2.toml").read_text().replace("layers", "layer"))
    with pytest.raises(BadInput, match=r"own.toml:\d+: unknown key model.layer") as raised:
        models.of_word(str(file))
    assert "did you mean layers" in f"{raised.value.message} {raised.value.remedy}"
