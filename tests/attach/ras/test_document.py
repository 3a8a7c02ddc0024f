"""What can be asked of an answer, whatever its form."""

from nccltool.attach.ras import json_document, text_document
from nccltool.attach.ras.document import RasCount, RasProcess
from tests.attach.ras.states import STATES, json_of, text_of

BY_NAME = {state.name: state for state in STATES}


def test_every_process_of_json_is_a_member() -> None:
    document = json_document.parse(json_of(BY_NAME["one process dead"], "2.30.7"))
    assert document.members == {("10.0.0.1", 4700 + number) for number in range(8)}


def test_text_of_a_healthy_job_names_nobody() -> None:
    assert text_document.parse(text_of(BY_NAME["healthy"], "2.27.7")).members == frozenset()


def test_a_set_of_which_not_all_are_named() -> None:
    assert not RasCount(operation="AllReduce", count=7, ranks=2, members=(RasProcess(rank=1),)).is_complete
