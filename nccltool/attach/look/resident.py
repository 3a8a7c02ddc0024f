"""Looking at one host again and again: ranks that were found are looked up again only when one of them is gone."""

import resource
import socket
import time
from dataclasses import replace

from nccltool.attach.look import here, process, sample
from nccltool.attach.look.order import LookAnswer, LookOrder
from nccltool.attach.look.step_log import LogMemory
from nccltool.attach.seen.job import HostLook
from nccltool.hosts.sources.base import Tree


class ResidentLook:
    """Answers orders, and remembers the ranks between them."""

    def __init__(self) -> None:
        self._known: HostLook | None = None
        self._logs = LogMemory()

    def answer(self, order: LookOrder) -> LookAnswer:
        if order.is_pulse and self._known is not None and (found := _pulse(self._known, self._logs)) is not None:
            return LookAnswer(host=found.host, look=found)
        asked = replace(order, samples=1) if order.is_pulse else order  # stacks tell which thread trains
        cpu = _cpu_s()
        answer = here.look(asked)
        if answer.look is None:
            return answer
        self._known = answer.look if order.ras is None else self._known
        return replace(answer, look=replace(answer.look, own_cpu_s=_cpu_s() - cpu))


def _pulse(known: HostLook, logs: LogMemory) -> HostLook | None:
    """One sample without stacks; None where a rank is gone."""
    tree, began, cpu = Tree(), time.monotonic(), _cpu_s()
    for rank in known.ranks:
        now = process.state(rank.pid, tree)
        if now is None or now.state in ("Z", "X"):
            return None
    last = {one.pid: one.stacks for one in known.samples[-1].ranks if one.stacks} if known.samples else {}
    threads = sample.training_threads(last)
    taken, unread = sample.take(known.ranks, tree, with_stacks=False, memory=logs, threads=threads)
    return HostLook(
        host=socket.gethostname(),
        ranks=known.ranks,
        samples=(taken,),
        agents=known.agents,
        unread=unread,
        cores=known.cores,
        took_s=time.monotonic() - began,
        own_cpu_s=_cpu_s() - cpu,
    )


def _cpu_s() -> float:
    """CPU time of this process and of the commands that it ran and that have ended."""
    own, below = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + below.ru_utime + below.ru_stime
