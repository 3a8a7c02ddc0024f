"""Validation beside the reference's, and the decision to stop."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from nccltool.train import tolerance
from nccltool.worker.train import strategies
from nccltool.worker.train.reference import Reference
from nccltool.worker.train.strategies.base import CannotTrain, Setup, Strategy
from nccltool.worker.train.validation import Validation
from tests.worker.train.conftest import SPEC

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]

VALIDATED = replace(SPEC, dtype="float32", options={"validate": 3, "patience": 2})


@pytest.fixture
def there(setup: Setup) -> Iterator[tuple[Strategy, Validation, Reference]]:
    own = Setup("ddp", VALIDATED, setup.tools)
    strategy, allowed = strategies.build(own), tolerance.of(VALIDATED)
    yield strategy, Validation(strategy, allowed), Reference(own, 1, allowed)


def wrong(validation: Validation, reference: Reference, number: int) -> list[str]:
    validation.step()
    return [one.what for one in validation.differences(reference, number) if one.is_wrong]


def test_the_same_model_has_the_same_loss_and_does_not_decide_by_rounding(
    there: tuple[Strategy, Validation, Reference],
) -> None:
    _, validation, reference = there
    assert [wrong(validation, reference, number) for number in (1, 2, 3)] == [[], [], []]
    assert validation.stops
    assert validation.loss == pytest.approx(validation.expected, rel=1e-6)


def test_another_loss_and_another_decision_are_found(
    there: tuple[Strategy, Validation, Reference], monkeypatch: pytest.MonkeyPatch
) -> None:
    strategy, validation, reference = there
    losses, expected = iter([5.0, 6.0, 6.5, 6.6]), iter([5.0, 6.0, 4.0, 6.6])
    monkeypatch.setattr(strategy, "validated", lambda batches: next(losses))
    monkeypatch.setattr(reference, "validation_loss", lambda: next(expected))
    assert [wrong(validation, reference, number) for number in (1, 2, 3)] == [[], [], ["validation", "stop"]]


def test_each_rank_has_a_sequence(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    own = Setup("ddp", VALIDATED, setup.tools)
    monkeypatch.setattr(own, "world", 4)
    with pytest.raises(CannotTrain, match="fewer sequences than there are ranks"):
        strategies.build(own)
