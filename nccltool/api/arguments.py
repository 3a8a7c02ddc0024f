"""What callers of nccltool.api give to its functions: checked before anything runs, and named as they wrote it.

Options of the command line have other names; what it says is told in the words of the parameters.
"""

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import ParamSpec, TypeVar

from nccltool.core.errors import BadInput, NccltoolError
from nccltool.core.text import listed, shortened

Given = ParamSpec("Given")
Result = TypeVar("Result")
Word = TypeVar("Word", bound=str)
_OPTION = re.compile(r"--([a-z][a-z-]*[a-z])")
_PARAMETERS = {
    "op": "ops",
    "bytes": "size",
    "pair-time": "pair_time_s",
    "timeout": "timeout_s",
    "deadline": "deadline_s",
    "min-busbw": "min_busbw_gb_per_s",
    "margin": "margin_percent",
    "env-file": "env_files",
}
"""Of options that have another name; of the others, the dashes are underscores."""


def in_words_of(*parameters: str) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """What a function raises speaks of these parameters, and not of options of the command line."""

    def decorate(function: Callable[Given, Result]) -> Callable[Given, Result]:
        @functools.wraps(function)
        def call(*words: Given.args, **named: Given.kwargs) -> Result:
            try:
                return function(*words, **named)
            except NccltoolError as error:
                error.message, error.remedy = told(error.message, parameters), told(error.remedy, parameters)
                error.args = (error.message,)
                raise

        return call

    return decorate


def told(text: str, parameters: Iterable[str]) -> str:
    """A sentence about options, in the words of a function with these parameters."""
    known = set(parameters)

    def name(match: re.Match[str]) -> str:
        same = match[1].replace("-", "_")
        own = same if same in known else _PARAMETERS.get(match[1], same)
        return own if own in known else f"the option {match[1]} of the command"

    return _OPTION.sub(name, text)


def text(name: str, value: object) -> str:
    """Raises BadInput for what is no str or path, and for an empty one."""
    if not isinstance(value, str | os.PathLike):
        raise _wrong(name, value, "a str or a path")
    found = os.fspath(value)
    if not isinstance(found, str) or not found:
        raise _wrong(name, value, "a str or a path that is not empty")
    return found


def optional_text(name: str, value: object) -> str | None:
    return None if value is None else text(name, value)


def place(name: str, value: object) -> str | None:
    """A folder or file that the variable of the option names too, as for the commands. Raises BadInput."""
    return optional_text(name, value) or os.environ.get(f"NCCLTOOL_{name.upper()}") or None


def texts(name: str, value: object) -> tuple[str, ...]:
    """A list of words; a word alone is a list of one. Raises BadInput."""
    if isinstance(value, str | os.PathLike):
        return (text(name, value),)
    if not isinstance(value, Iterable) or isinstance(value, Mapping | bytes):
        raise _wrong(name, value, "a list of str")
    return tuple(text(name, one) for one in value)


def words(name: str, value: object) -> tuple[str, ...]:
    """The same, where a word may be several with commas between them, or a whole number."""
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping | os.PathLike):
        value = [str(one) if isinstance(one, int) and not isinstance(one, bool) else one for one in value]
    return tuple(part.strip() for one in texts(name, value) for part in one.split(","))


def one_word(name: str, value: object) -> str:
    """A word, or a whole number. Raises BadInput."""
    found = words(name, [value])
    if len(found) != 1:
        raise _wrong(name, value, "one word")
    return found[0]


def flag(name: str, value: object) -> bool:
    """Raises BadInput."""
    if not isinstance(value, bool):
        raise _wrong(name, value, "True or False")
    return value


def count(name: str, value: object, least: int, most: int = sys.maxsize) -> int:
    """A whole number. Raises BadInput."""
    if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
        return value
    upper = "" if most == sys.maxsize else f" and at most {most}"
    raise _wrong(name, value, f"a whole number of at least {least}{upper}")


def optional_count(name: str, value: object, least: int = 1) -> int | None:
    return None if value is None else count(name, value, least)


def number(name: str, value: object, least: float = 0.001, most: float = sys.float_info.max) -> float:
    """A finite number. Raises BadInput."""
    if isinstance(value, int | float) and not isinstance(value, bool) and least <= value <= most:
        return float(value)
    upper = "" if most == sys.float_info.max else f" and at most {most:g}"
    raise _wrong(name, value, f"a number of at least {least:g}{upper}")


def choice(name: str, value: Word, known: Sequence[Word]) -> Word:
    """One of these words. Raises BadInput."""
    if value not in known:
        raise _wrong(name, value, f"one of {listed(known, len(known))}")
    return value


def _wrong(name: str, value: object, what: str) -> BadInput:
    given = f"{shortened(repr(value), 60)} ({type(value).__name__})"
    return BadInput(f"{name} must be {what}, not {given}", "help(nccltool.api) shows all parameters")
