"""The grammar of drills."""

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch import fault_injection
from nccltool.launch.fault_injection import Fault
from nccltool.probe import collectives
from tests.docs.pages import ROOT


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("kill", Fault(action="kill")),
        ("kill:", Fault(action="kill")),
        ("stop:rank=0", Fault(action="stop", rank=0)),
        ("hang:rank=3,at=hello", Fault(action="hang", rank=3, at="hello")),
        (
            "raise:rank=1,op=all_reduce,size=1MiB,at=timing",
            Fault(action="raise", rank=1, op="all_reduce", size=2**20, at="timing"),
        ),
        ("exit:at=start", Fault(action="exit", at="start")),
        ("slow:ms=200,op=send_recv", Fault(action="slow", ms=200, op="send_recv")),
        ("corrupt:size=64K", Fault(action="corrupt", size=64 * 1024, at="check")),
        ("corrupt:at=timing,rank=2", Fault(action="corrupt", rank=2, at="check")),
    ],
)
def test_drills(text: str, fault: Fault) -> None:
    assert fault_injection.parse(text) == fault_injection.parse(fault.text) == fault


def test_no_drill() -> None:
    assert fault_injection.parse("") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("explode", "'explode' is not an action"),
        ("KILL", "'KILL' is not an action"),
        (":rank=1", "'' is not an action"),
        ("kill:rank", "'rank' is not KEY=VALUE with a known key"),
        ("kill:node=1", "'node=1' is not KEY=VALUE with a known key"),
        ("kill:action=stop", "'action=stop' is not KEY=VALUE with a known key"),
        ("kill:rank=one", "rank=one is not a number"),
        ("kill:rank=-1", "rank=-1 is not a number"),
        ("kill:rank=", "rank= is not a number"),
        ("slow:ms=1.5", "ms=1.5 is not a number"),
        ("kill:step=0", "there is no step 0"),
        ("kill:op=allreduce", "op=allreduce is not valid"),
        ("kill:at=middle", "at=middle is not valid"),
        ("kill:size=big", "'big' is not a size"),
    ],
)
def test_a_bad_word_is_named_with_the_variable(text: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        fault_injection.parse(text, collectives.NAMES)
    assert error.value.message == f"NCCLTOOL_FAULT: {message}"
    assert error.value.remedy


@pytest.mark.parametrize(
    ("text", "place", "hit"),
    [
        ("kill:rank=1", (1, "timing", "all_reduce", 1024), True),
        ("kill:rank=1", (1, "timing", "gather", 8), True),
        ("kill:rank=1", (0, "timing", "all_reduce", 1024), False),
        ("kill:rank=1", (1, "check", "all_reduce", 1024), False),
        ("kill:op=gather", (1, "timing", "gather", 8), True),
        ("kill:op=gather", (1, "timing", "all_reduce", 8), False),
        ("kill:size=8", (1, "timing", "gather", 8), True),
        ("kill:size=8", (1, "timing", "gather", 16), False),
        ("corrupt", (1, "check", "gather", 16), True),
        ("exit:at=start", (1, "start"), True),
    ],
)
def test_where_a_drill_hits(text: str, place: tuple[int, str] | tuple[int, str, str, int], hit: bool) -> None:
    fault = fault_injection.parse(text)
    assert fault is not None
    assert fault.hits(*place) is hit


@pytest.mark.parametrize("word", (*fault_injection.ACTIONS, *fault_injection.PLACES))
def test_every_word_of_the_grammar_is_on_its_page(word: str) -> None:
    assert f"`{word}`" in (ROOT / "docs/faults.md").read_text()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", []),
        ("slow:rank=0,ms=20", ["a fault was injected into rank 0: slow:rank=0,ms=20"]),
        ("kill", ["a fault was injected into rank 1: kill"]),
    ],
)
def test_a_result_names_the_fault_that_was_injected(text: str, said: list[str]) -> None:
    found = fault_injection.findings(text)
    assert [one.message for one in found] == said
    assert all((one.code, one.severity, one.effect) == ("fault-injected", "info", "note") for one in found)
