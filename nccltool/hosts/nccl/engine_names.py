"""Names that serving engines and trainers read (engine_names.json), and which one a typo of one letter stands for.

An engine has new names in each release, which differ from others by a word or a digit. Only a
difference that no such name has counts as a typo.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec

_FILE = Path(__file__).parent / "engine_names.json"
BEGINNINGS = (
    *("VLLM_", "SGLANG_", "ACCELERATE_", "FSDP_", "PARALLELISM_CONFIG_", "DEEPSPEED_", "NVTE_", "RAY_"),
    *("MC_", "MOONCAKE_", "NIXL_"),
)
"""Of names that are looked up here."""
_SHORTEST = 10
_WORD, _LONG_WORD = 4, 5
"""Letters of a word in which one too many or too few, or a wrong one, is a typo."""


class _Engine(msgspec.Struct, frozen=True):
    """Names that an engine reads, and where they were read."""

    component: str
    source: str
    names: tuple[str, ...]
    removed: dict[str, str] = {}
    """Name -> the first examined release without it."""


@cache
def _engines() -> tuple[_Engine, ...]:
    return msgspec.json.decode(_FILE.read_bytes(), type=tuple[_Engine, ...])


@cache
def every() -> Mapping[str, str]:
    """Name -> engine."""
    return {name: engine.component for engine in _engines() for name in engine.names}


@cache
def removed() -> Mapping[str, str]:
    """Name -> the release from which on the engine does not read it."""
    return {name: release for engine in _engines() for name, release in engine.removed.items()}


def is_known(name: str) -> bool:
    return name.startswith(BEGINNINGS) and name in every()


def meant(name: str) -> tuple[str, ...]:
    """The names that are one typo away from a name that no engine reads."""
    beginning = next((one for one in BEGINNINGS if name.startswith(one)), None)
    if beginning is None or len(name) < _SHORTEST or name in every():
        return ()
    return tuple(one for one in every() if one.startswith(beginning) and _is_slip(name, one))


def _is_slip(name: str, known: str) -> bool:
    """Whether a letter is left out, added, wrong, or swapped with the next one, and not in a short word: engines
    have names such as CP_SIZE and SP_SIZE. Digits and plurals are not typos."""
    longer = max(len(name), len(known))
    if abs(len(name) - len(known)) > 1:
        return False
    start = _alike(name, known)
    end = min(_alike(name[::-1], known[::-1]), longer - start - 1)
    mine, theirs = name[start : len(name) - end], known[start : len(known) - end]
    if any(letter.isdigit() for letter in mine + theirs):
        return False
    word = known[known.rfind("_", 0, start) + 1 :].partition("_")[0]
    if "_" not in mine + theirs and len(word) < (_LONG_WORD if len(mine) == len(theirs) else _WORD):
        return False
    if len(mine) == len(theirs) == 2:
        return mine == theirs[::-1]
    is_plural = "S" in (mine, theirs) and len(mine) != len(theirs) and name.rstrip("S") == known.rstrip("S")
    return len(mine) <= 1 and len(theirs) <= 1 and not is_plural


def _alike(one: str, other: str) -> int:
    """How many letters at the beginning are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (mine, theirs) in pairs if mine != theirs), min(len(one), len(other)))
