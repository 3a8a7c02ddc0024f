"""Who meets, and what came of it, in the store of the run: it answers while a rank is missing.

Rank 0 writes each round, and the last one, which is empty. Of each meeting its first rank says what came of it, or
whichever rank it failed on; these are numbered in the order in which they come.
"""

import time
from collections.abc import Callable
from datetime import timedelta

import msgspec
from torch.distributed import PrefixStore, Store

from nccltool.localize.pairs.events import Encountered
from nccltool.localize.pairs.units import MeetingUnit

_GONE = (RuntimeError, OSError)
"""What a store raises when a key does not come in time: torch's own and ours differ."""


class MeetingResult(msgspec.Struct, frozen=True):
    """What came of a meeting."""

    meeting: int
    encounters: tuple[Encountered, ...]


class MeetingBoard:
    """The store, as ranks that meet use it."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put_units(self, units: tuple[MeetingUnit, ...]) -> None:
        self._store.set("units", msgspec.json.encode(units))

    def units(self) -> tuple[MeetingUnit, ...]:
        """Waits for them."""
        return msgspec.json.decode(self._store.get("units"), type=tuple[MeetingUnit, ...])

    def put_round(self, number: int, meetings: tuple[tuple[str, ...], ...]) -> None:
        self._store.set(f"round/{number}", msgspec.json.encode(meetings))

    def round_after(self, number: int) -> tuple[int, tuple[tuple[str, ...], ...]]:
        """The next round that has not been left behind: a rank that was stopped meets nobody in an old one."""
        number += 1
        said = self._store.get(f"round/{number}")
        while said != b"[]" and self._store.check([f"round/{number + 1}"]):
            number += 1
            said = self._store.get(f"round/{number}")
        return number, msgspec.json.decode(said, type=tuple[tuple[str, ...], ...])

    def gather(self, round_number: int, meeting: int, size: int, patience_s: float, part: int = 0) -> bool:
        """Whether all of a meeting have come; `part`: to which of its measurements."""
        here = f"here/{round_number}/{meeting}/{part}"
        if self._store.add(f"{here}/count", 1) == size:
            self._store.set(f"{here}/all", "")
        return self._came(f"{here}/all", patience_s)

    def tell(self, round_number: int, met: MeetingResult) -> None:
        number = self._store.add(f"met/{round_number}/count", 1)
        self._store.set(f"met/{round_number}/{number}", msgspec.json.encode(met))

    def listen(
        self, round_number: int, meetings: int, patience_s: float, hear: Callable[[MeetingResult], None]
    ) -> set[int]:
        """Hear what comes of each meeting, as it comes; those of which nothing came in time."""
        missing, number, end = set(range(meetings)), 1, time.monotonic() + patience_s
        while missing and self._came(f"met/{round_number}/{number}", max(end - time.monotonic(), 0.0)):
            met = msgspec.json.decode(self._store.get(f"met/{round_number}/{number}"), type=MeetingResult)
            if met.meeting in missing:
                missing.discard(met.meeting)
                hear(met)
            number += 1
        return missing

    def within(self, round_number: int, meeting: int, part: int = 0) -> Store:
        """A store for a process group of one meeting."""
        return PrefixStore(f"group/{round_number}/{meeting}/{part}", self._store)

    def _came(self, key: str, patience_s: float) -> bool:
        try:
            self._store.wait([key], timedelta(seconds=max(patience_s, 0.01)))
        except _GONE:
            return bool(self._store.check([key]))  # raises where the store itself is gone
        return True
