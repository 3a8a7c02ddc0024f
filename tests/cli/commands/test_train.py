"""nccltool train: the options that its groups of options declare."""

from dataclasses import fields

import pytest

from nccltool.core.errors import BadInput
from nccltool.train import strategies
from nccltool.train.strategies import base
from tests.train.test_options import spec


def test_options_have_different_places_in_the_help() -> None:
    places = [base.traits(field).place for field in (*strategies.options().values(), *fields(base.CommonOptions))]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("number", ["-1", "0", "nan", "much"])
def test_a_norm_that_cannot_be(number: str) -> None:
    with pytest.raises(BadInput, match=f"^--clip-norm {number}: expected a .*number"):
        spec("ddp", "--clip-norm", number)
