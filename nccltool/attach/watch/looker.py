"""How a watched job is looked at: on this host, or on others that stay connected."""

from typing import Protocol

from nccltool.attach import run
from nccltool.attach.look.longer import SPAN_S
from nccltool.attach.look.order import LookOrder
from nccltool.attach.look.resident import ResidentLook
from nccltool.attach.options import AttachOptions, look_order
from nccltool.attach.reach.conversation import Conversation
from nccltool.attach.seen.job import JobLook


class JobLooker(Protocol):
    """Looks at one job. Both raise BadInput, NotJudged."""

    def pulse(self) -> JobLook:
        """One sample without stacks."""

    def look(self, samples: int) -> JobLook:
        """With stacks."""


class HostsLooker:
    """Looks at the hosts that the options name."""

    def __init__(self, options: AttachOptions) -> None:
        commands = run.commands(options)
        self._options, self._order = options, look_order(options)
        self._here = None if commands else ResidentLook()
        self._there = Conversation(commands)

    def pulse(self) -> JobLook:
        return self._answered(self._with(samples=1, is_pulse=True))

    def look(self, samples: int) -> JobLook:
        return self._answered(self._with(samples=samples, is_pulse=False))

    def end(self) -> None:
        self._there.end()

    def _with(self, *, samples: int, is_pulse: bool) -> LookOrder:
        order = self._order
        return LookOrder(
            pid=order.pid,
            program=order.program,
            samples=samples,
            interval_s=order.interval_s,
            is_pulse=is_pulse,
        )

    def _answered(self, order: LookOrder) -> JobLook:
        if self._here is not None:
            return run.joined([self._here.answer(order)], (), is_here=True)
        answers, unreached = self._there.ask(
            order, self._options.host_timeout + order.interval_s * order.samples + SPAN_S
        )
        return run.joined(answers, unreached)
