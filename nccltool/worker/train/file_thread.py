"""A thread that reads and writes files for its rank, which can leave it when a file system never answers."""

import queue
import threading
from collections.abc import Callable
from typing import Any


class FileThread:
    """Does one thing after another; after one that took too long it is of no more use."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], Any]] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[Any, Exception | None]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="files", daemon=True)
        self._thread.start()

    @property
    def thread(self) -> int:
        return self._thread.native_id or 0

    def _run(self) -> None:
        while True:
            work = self._work.get()
            try:
                self._done.put((work(), None))
            except Exception as error:  # noqa: BLE001 - raised again where the result is asked for
                self._done.put((None, error))

    def done(self, work: Callable[[], Any], timeout_s: float) -> Any:
        """What `work` returns. Raises what it raises, and TimeoutError."""
        self._work.put(work)
        try:
            result, error = self._done.get(timeout=timeout_s)
        except queue.Empty:
            raise TimeoutError("timed out") from None
        if error is not None:
            raise error
        return result
