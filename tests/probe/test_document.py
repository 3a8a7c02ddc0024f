"""A run and its document are the same thing."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.probe.document import to_json
from nccltool.probe.result import Run
from nccltool.train import document as train_document
from tests.samples import RUNS, finding, good_run, info


@pytest.mark.parametrize("sample", RUNS.values(), ids=RUNS.keys())
def test_a_run_survives_its_document(sample: Callable[[], Run]) -> None:
    run = sample()
    assert train_document.from_json(to_json(run).encode(), "x") == run


@given(st.text(), st.lists(st.text()))
def test_any_text_survives(text: str, evidence: list[str]) -> None:
    run = replace(
        good_run(), info=info(command=tuple(evidence)), findings=(finding(message=text, evidence=tuple(evidence)),)
    )
    assert train_document.from_json(to_json(run).encode(), "x") == run
