from dataclasses import replace

import pytest

from nccltool.core.errors import BadInput
from nccltool.plan import models
from tests.plan.samples import H100, plan


def test_what_fits_passes() -> None:
    made = plan(64)
    assert (made.verdict.status, made.verdict.exit_code, made.findings) == ("pass", 0, ())
    assert made.choice is made.strategies[0]
    assert made.training_s == pytest.approx(1e12 / made.strategies[0].tokens_per_s)


def test_what_does_not_fit_fails_and_names_the_number_of_gpus_that_does() -> None:
    large = models.of_word("llama-3-70b")
    made = plan(4, large)
    assert (made.verdict.status, made.verdict.exit_code, made.choice, made.training_s) == ("fail", 1, None, None)
    finding = made.findings[0]
    assert finding.code == "nothing-fits"
    assert "llama-3-70b does not fit on 4 GPUs of 74.5 GiB: " in finding.message
    gpus = int(finding.remedy.split("--gpus ")[1].split()[0])
    assert plan(gpus, large).choice is not None
    assert gpus % 8 == 0
    assert plan(gpus - 8, large).choice is None


def test_gpus_without_memory_have_no_remedy_in_numbers() -> None:
    made = plan(1, machine=replace(H100, memory_bytes=10**9))
    assert made.findings[0].remedy == "use GPUs with more memory or a shorter --sequence"


def test_degrees_that_cannot_be_are_refused() -> None:
    with pytest.raises(BadInput, match="cannot be split over tp 5"):
        plan(10, tensor=5)
    with pytest.raises(BadInput, match="no layout has these degrees"):
        plan(1, strategies=("hsdp",), tensor=2)
