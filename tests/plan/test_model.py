import pytest

from nccltool.plan import models

PUBLISHED = {
    "gpt2": 124_439_808,
    "gpt2-xl": 1_557_611_200,
    "llama-2-7b": 6_738_415_616,
    "llama-2-13b": 13_015_864_320,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "llama-3-405b": 405_853_388_800,
    "llama-3.2-1b": 1_235_814_400,
    "llama-3.2-3b": 3_212_749_824,
    "mixtral-8x7b": 46_702_792_704,
    "deepseek-v3": 671_026_404_352,
}
"""Numbers of parameters of the published weights, exactly."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_parameters_are_those_of_the_published_weights(name: str) -> None:
    assert models.of_word(name).parameters == PUBLISHED[name]


@pytest.mark.parametrize(
    ("name", "billions"), [("gpt3-175b", 174.6), ("palm-540b", 540.35), ("qwen2.5-3b", 3.0858)]
)
def test_parameters_are_about_those_of_papers(name: str, billions: float) -> None:
    assert models.of_word(name).parameters / 1e9 == pytest.approx(billions, rel=1e-3)


@pytest.mark.parametrize(("name", "billions"), [("mixtral-8x7b", 12.88), ("deepseek-v3", 37.55), ("gpt2", 0.1244)])
def test_of_experts_a_token_meets_a_few(name: str, billions: float) -> None:
    assert models.of_word(name).active_parameters / 1e9 == pytest.approx(billions, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "gflop"),
    [
        ("llama-3.2-1b", 10.6),
        ("llama-3.2-3b", 27.7),
        ("llama-2-7b", 52.5),
        ("llama-3-8b", 57.9),
        ("llama-2-13b", 97.2),
        ("llama-3-70b", 481),
        ("llama-3-405b", 2625),
    ],
)
def test_operations_are_those_that_torch_counts(name: str, gflop: float) -> None:
    """FlopCounterMode of torch 2.13 on the meta device, at 8,192 tokens."""
    assert models.of_word(name).flop_per_token(8192) / 1e9 == pytest.approx(gflop, rel=5e-3)
