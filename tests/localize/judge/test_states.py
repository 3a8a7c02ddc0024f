"""What a part can be."""

import numpy as np
import pytest

from nccltool.localize.judge import states


@pytest.mark.parametrize("directions", [1, 3])
def test_the_states_that_are_bad_have_the_probability_that_was_given(directions: int) -> None:
    logs = states.log_priors(0.02, directions, is_mild_usual=False)
    odds = np.exp(logs)
    assert logs.shape == (directions, len(states.SHARES), states.LEVELS - 1)
    assert (odds / (1 + odds.sum())).sum() == pytest.approx(0.02, rel=1e-3)


def test_small_differences_are_likelier_than_faults() -> None:
    logs = states.log_priors(0.02, 1, is_mild_usual=True)
    assert logs.argmax() == states.MILD - 1
