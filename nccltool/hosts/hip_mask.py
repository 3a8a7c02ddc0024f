"""Which GPUs of AMD a process sees: ROCR_VISIBLE_DEVICES first; of what it leaves, HIP_VISIBLE_DEVICES.

HIP takes CUDA_VISIBLE_DEVICES where HIP_VISIBLE_DEVICES is not set: AMD's page "GPU isolation techniques". What
wrong words do is in the sources: amd_filter_device.cpp of ROCR-Runtime, rocdevice.cpp of clr. An empty mask hides
all; of HIP's two it is torch that takes it so.
"""

import re
from collections.abc import Mapping, Sequence

_ROCR, _HIP, _CUDA = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"
_LEAST_OF_A_UUID, _MOST_OF_A_UUID = 5, 20
_C_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,8}|0|[1-9]\d{0,8}")


def chosen(env: Mapping[str, str], uuids: Sequence[str]) -> list[int]:
    """Of the GPUs with these UUIDs (GPU- and 16 digits), in the order of the runtime."""
    left = list(range(len(uuids)))
    if _ROCR in env:
        left = _by_rocr(env[_ROCR], uuids)
    mask = env.get(_HIP, env.get(_CUDA))
    return left if mask is None else [left[place] for place in _by_hip(mask, [uuids[gpu] for gpu in left])]


def hidden_by_rocr(env: Mapping[str, str]) -> tuple[str, str, int] | None:
    """HIP's mask, its first number that the mask of ROCR hides, and how many GPUs that leaves at most.

    None = there is no such number, or not both masks. It needs no GPUs: what is wrong is so with any of them.
    """
    name = next((name for name in (_HIP, _CUDA) if name in env), None)
    if name is None or _ROCR not in env:
        return None
    left = _most_by_rocr(env[_ROCR])
    for word in env[name].split(","):
        if _is_plain(word) and int(word) >= left:
            return name, word, left
    return None


def _most_by_rocr(mask: str) -> int:
    """How many GPUs it leaves where all that it names exist."""
    found: list[str] = []
    for word in (one.strip() for one in mask.upper().split(",")):
        number = _c_number(word)
        if word in found or (number is None and not word.startswith("G")):
            break
        found.append(word)
    return len(found)


def _by_rocr(mask: str, uuids: Sequence[str]) -> list[int]:
    """The first word that names no GPU, or one a second time, ends it."""
    found: list[int] = []
    for word in mask.upper().split(","):
        place = _uuid(word.strip(), uuids) if word.strip().startswith("G") else _c_number(word.strip())
        if place is None or place >= len(uuids) or place in found:
            break
        found.append(place)
    return found


def _by_hip(mask: str, uuids: Sequence[str]) -> list[int]:
    """Numbers as they are printed, and UUIDs; one that comes twice counts once."""
    found: list[int] = []
    for word in mask.split(","):
        place = _uuid(word.upper(), uuids) if word.startswith("GPU-") else int(word) if _is_plain(word) else None
        if place is None or place >= len(uuids):
            break
        found.append(place)
    return list(dict.fromkeys(found))


def _is_plain(word: str) -> bool:
    return word.isascii() and word.isdecimal() and len(word) < 10 and str(int(word)) == word


def _c_number(word: str) -> int | None:
    """As strtol with base 0 takes the whole of a word; octal numbers under 8 GPUs are the same."""
    return int(word, 0) if _C_NUMBER.fullmatch(word) else None


def _uuid(word: str, uuids: Sequence[str]) -> int | None:
    """The beginning is enough where no other one begins so."""
    if not _LEAST_OF_A_UUID <= len(word) <= _MOST_OF_A_UUID:
        return None
    fits = [place for place, uuid in enumerate(uuids) if uuid.upper().startswith(word)]
    return fits[0] if len(fits) == 1 else None
