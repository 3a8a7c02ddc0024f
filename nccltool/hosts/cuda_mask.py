"""CUDA_VISIBLE_DEVICES as CUDA reads it.

Source: CUDA C++ Programming Guide, "CUDA Environment Variables"; torch/cuda/__init__.py reads it in the same way.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

_MASK = "CUDA_VISIBLE_DEVICES"
_NUMBER = re.compile(r"[+-]?\d{1,9}")


def chosen(env: Mapping[str, str], uuids: Sequence[str | None]) -> list[int]:
    """Which of the GPUs with these UUIDs a process sees; None = a UUID that is not known.

    The first word that names no GPU ends the list; a GPU that comes twice hides all. The first word tells whether
    all are numbers or UUIDs.
    """
    mask = env.get(_MASK)
    if mask is None:
        return list(range(len(uuids)))
    words = [word.strip() for word in mask.split(",")]
    if words[0].startswith("MIG-"):  # an instance of a GPU: one, whichever
        return [0] if uuids else []
    found: list[int] = []
    for place in _by_uuid(words, uuids) if words[0].startswith("GPU-") else map(_number, words):
        if place is None or not 0 <= place < len(uuids):
            break
        found.append(place)
    return found if len(set(found)) == len(found) else []


def has_uuids(env: Mapping[str, str]) -> bool:
    """The mask names GPUs by what their driver calls them."""
    return env.get(_MASK, "").lstrip().startswith("GPU-")


def _number(word: str) -> int:
    """As strtoul does, CUDA reads a number and lets go of what follows it."""
    number = _NUMBER.match(word)
    return int(number[0]) if number else -1


def _by_uuid(words: Sequence[str], uuids: Sequence[str | None]) -> Iterator[int | None]:
    """The beginning of a UUID is enough where no other one begins so."""
    if None in uuids:  # each word may be one of them
        places = {word: place for place, word in enumerate(dict.fromkeys(words))}
        yield from (places[word] if word.startswith("GPU-") else None for word in words)
        return
    for word in words:
        fits = [
            place for place, uuid in enumerate(uuids) if word.startswith("GPU-") and (uuid or "").startswith(word)
        ]
        yield fits[0] if len(fits) == 1 else None
