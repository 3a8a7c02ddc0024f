import pytest

from nccltool.plan.recipe import OPTIMIZERS, PRECISIONS
from tests.plan.samples import recipe


def test_a_step_has_the_tokens_of_all_sequences() -> None:
    assert recipe(256, 4096).tokens == 2**20


@pytest.mark.parametrize(
    ("precision", "optimizer", "bytes_each"),
    [
        ("amp", "adamw", 16),
        ("mixed", "adamw", 16),
        ("megatron", "adamw", 18),
        ("fp32", "adamw", 16),
        ("bf16", "adamw", 8),
        ("mixed", "adamw-8bit", 10),
        ("mixed", "sgd", 8),
        ("mixed", "sgd-momentum", 12),
    ],
)
def test_bytes_of_a_parameter_are_those_of_the_frameworks(precision: str, optimizer: str, bytes_each: int) -> None:
    one, state = PRECISIONS[precision], OPTIMIZERS[optimizer]
    moment = one.state if state.state_bytes is None else state.state_bytes
    assert one.parameter + one.gradient + one.master + state.moments * moment == bytes_each
