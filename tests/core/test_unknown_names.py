"""The one wording for a name that is not known."""

import pytest

from nccltool.core.unknown_names import unknown

_NAMES = ("all_reduce", "all_gather", "broadcast")


@pytest.mark.parametrize(
    ("word", "see", "option", "where", "message", "remedy"),
    [
        (
            *("all_redcue", "", "--op", ""),
            "--op: unknown operation 'all_redcue'",
            "did you mean all_reduce? choose from all_reduce, all_gather, broadcast",
        ),
        ("zzz", "x lists them", "", "in F", "unknown operation 'zzz' in F", "x lists them"),
        ("a", "x lists them", "", "", "unknown operation 'a'", "x lists them"),
        ("\x1b[1m", "", "", "", "unknown operation '\\x1b[1m'", "choose from all_reduce, all_gather, broadcast"),
    ],
)
def test_words(word: str, see: str, option: str, where: str, message: str, remedy: str) -> None:
    error = unknown("operation", word, _NAMES, see, option=option, where=where)
    assert (error.message, error.remedy, error.exit_code) == (message, remedy, 2)


def test_many_names_are_not_all_listed() -> None:
    error = unknown("rule", "zzz", [f"R{number:03}" for number in range(50)])
    assert error.remedy.endswith("R011, ...")


def test_where_there_are_no_names_there_is_no_list() -> None:
    assert unknown("baseline", "zzz", ()).remedy == ""
