"""A plug-in's operation on a rank: called once before it is timed, so that a defect costs no other operation."""

from collections.abc import Callable
from typing import TypeVar

from nccltool.core.plugins import PluginFailed, ToolPlugin
from nccltool.probe.collectives.base import Call
from nccltool.probe.events import PluginRaised
from nccltool.probe.plan import Step
from nccltool.worker.agreement import CollectiveFailed
from nccltool.worker.probe import comm
from nccltool.worker.rank.tools import RankTools

Value = TypeVar("Value")
_LONGEST_S = 10.0
"""How long a rank that failed waits for the others: they come at once, or are stuck in the call that it left."""


def named(plugin: ToolPlugin, call: Call) -> Call:
    """A call whose defects raise PluginFailed; what communication itself raises stays as it is."""

    def run() -> None:
        try:
            call()
        except (Exception, SystemExit) as error:
            if _is_of_communication(error):
                raise
            raise PluginFailed(plugin, error) from error

    return run


def _is_of_communication(error: BaseException) -> bool:
    """torch raises RuntimeError where a network or a peer failed, and others where its arguments make no sense."""
    trace, files = error.__traceback__, set()
    while trace is not None:
        files.add(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    return isinstance(error, RuntimeError) and comm.__file__ in files


class PluginTrial:
    """Which operations of plug-ins work; all ranks come to the same result."""

    def __init__(self, tools: RankTools, timeout_s: float) -> None:
        self._group, self._channel, self._timeout_s = tools.group, tools.channel, timeout_s
        self._broken: set[str] = set()

    def is_broken(self, op: str) -> bool:
        return op in self._broken

    def passes(self, step: Step, make: Callable[[], Call], slow_s: float) -> bool:
        """Whether all ranks can make the call, and it returns on all; it may take `slow_s` more than the timeout.

        Raises PluginFailed where it raised here, and others did not come back from it.
        """
        made, failure = _tried(make)
        if not self._all_did(f"{step.index}/made", step, failure, slow_s):
            return False
        assert made is not None
        _, failure = _tried(made)
        if failure is None:
            self._group.settle()
        return self._all_did(f"{step.index}/called", step, failure, slow_s)

    def _all_did(self, name: str, step: Step, failure: PluginFailed | None, slow_s: float) -> bool:
        patience_s = min(_LONGEST_S, self._timeout_s / 2) if failure else 2 * self._timeout_s + slow_s
        try:
            failed, is_first = self._group.count_failed(f"plug-in/{name}", failure is not None, patience_s)
        except CollectiveFailed:
            if failure is None:
                raise
            raise failure from None
        if failure and is_first:
            told = PluginRaised(rank=self._group.rank, op=step.op, bytes=step.layout.bytes, text=failure.message)
            self._channel.emit(told)
        if failed:
            self._broken.add(step.op)
        return not failed


def _tried(call: Callable[[], Value]) -> tuple[Value | None, PluginFailed | None]:
    """What it returns, or how the plug-in failed. Raises what communication raises."""
    try:
        return call(), None
    except PluginFailed as error:
        return None, error
    except CollectiveFailed as error:
        if isinstance(error.__cause__, PluginFailed):
            return None, error.__cause__
        raise
