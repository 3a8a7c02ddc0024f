"""As much of Ray as the driver uses: actors are objects here, each concurrency group of one is a thread."""

import importlib
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any

exceptions = importlib.import_module("ray.exceptions")


def init(**_: object) -> None:
    pass


def nodes() -> object:
    return json.loads(os.environ["FAKE_RAY_NODES"])


def method(*, concurrency_group: str) -> Callable[[Any], Any]:
    def marked(function: Any) -> Any:
        function.group = concurrency_group
        return function

    return marked


class _Method:
    def __init__(self, actor: "_Actor", name: str) -> None:
        self._actor, self._name = actor, name

    def remote(self, *words: object) -> Future[object]:
        return self._actor.begin(self._name, words)


class _Actor:
    def __init__(self, kind: type, words: Sequence[object], *, is_placed: bool) -> None:
        self._threads: dict[str, ThreadPoolExecutor] = {}
        self._is_placed, self._kind = is_placed, kind
        self._made = ThreadPoolExecutor(1).submit(kind, *words) if is_placed else Future[object]()

    def __getattr__(self, name: str) -> _Method:
        return _Method(self, name)

    def begin(self, name: str, words: Sequence[object]) -> Future[object]:
        if not self._is_placed:
            return Future()
        group = getattr(getattr(self._kind, name), "group", "")
        thread = self._threads.setdefault(group, ThreadPoolExecutor(1))
        return thread.submit(lambda: getattr(self._made.result(), name)(*words))


class _Remote:
    def __init__(self, kind: type, node_id: str = "") -> None:
        self._kind, self._node_id = kind, node_id

    def options(self, *, scheduling_strategy: Any, num_cpus: int, num_gpus: int) -> "_Remote":
        assert num_cpus == 0
        return _Remote(self._kind, scheduling_strategy.node_id)

    def remote(self, *words: object) -> _Actor:
        return _Actor(self._kind, words, is_placed=self._node_id != "full")


def remote(**_: object) -> type[_Remote]:
    return _Remote


def wait(
    refs: Sequence[Future[object]], *, num_returns: int, timeout: float
) -> tuple[list[Future[object]], list[Future[object]]]:
    done, rest = wait_for(refs, timeout, FIRST_COMPLETED)
    return list(done)[:num_returns], list(rest)


def get(ref: Future[object]) -> object:
    try:
        return ref.result()
    except Exception as error:
        raise exceptions.RayError(f"\x1b[36mray::Held\x1b[39m\n{type(error).__name__}: {error}\n") from error
