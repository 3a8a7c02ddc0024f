"""Events of many logs, kept until it is known which logs are of one job: on disk, where they are too many."""

import contextlib
import tempfile
from collections.abc import Iterable, Iterator

import msgspec

from nccltool.core.errors import BadInput
from nccltool.triage.logs.base import LogEvent

IN_MEMORY_BYTES = 16 << 20
_decoder = msgspec.json.Decoder(LogEvent)


class EventSpool(contextlib.AbstractContextManager["EventSpool"]):
    """Takes the events of one log after the other; gives those of the logs that are asked for."""

    def __init__(self) -> None:
        self._kept = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115 - closed by __exit__
        self._places: dict[str, list[tuple[int, int]]] = {}
        """File -> where its events begin and end; all of a file follow each other."""

    def __exit__(self, *_: object) -> None:
        self._kept.close()

    def add(self, events: Iterable[LogEvent]) -> None:
        """Raises BadInput where there is no room for them."""
        place = 0
        try:
            for event in events:
                line = msgspec.json.encode(event) + b"\n"
                self._kept.write(line)
                places = self._places.setdefault(event.file, [])
                if places and places[-1][1] == place:
                    places[-1] = (places[-1][0], place + len(line))
                else:
                    places.append((place, place + len(line)))
                place += len(line)
        except OSError as error:
            raise BadInput(
                f"{tempfile.gettempdir()} has no room for what the logs say: {error.strerror}",
                "set TMPDIR to a folder with more room",
            ) from error

    def of(self, file: str) -> Iterator[LogEvent]:
        """The events of a log, in their order."""
        for begin, end in self._places.get(file, ()):
            self._kept.seek(begin)
            while begin < end:
                line = self._kept.readline()
                begin += len(line)
                yield _decoder.decode(line)
