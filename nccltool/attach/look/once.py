"""What is read once, after the samples: recorders, worker servers, Inspector, logs, kernel messages, and GPUs.

All at the same time, each with its deadline: a file may be on a file system that hangs, and what takes too long is
listed as not read.
"""

from dataclasses import replace
from typing import Any

from nccltool.attach.look import gpus, inspector, job_log, kernel_log, recorders, worker_server
from nccltool.attach.seen.job import HostLook, Unread
from nccltool.core.unknown import Unknown
from nccltool.hosts.sources.base import Tree, within

DEADLINE_S = 10.0
_NOTHING: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())


def read(seen: HostLook, tree: Tree, trust_pickle: bool) -> HostLook:
    """`seen`, with all that."""
    ranks, host = seen.ranks, seen.host
    last = {one.pid: one for one in seen.samples[-1].ranks}
    files, servers, inspectors, logs, kernel, cards = within(
        DEADLINE_S,
        (
            ("flight recorder dumps", lambda: recorders.found(ranks, seen.samples[-1], tree, trust_pickle)),
            ("worker servers", lambda: worker_server.asked(ranks, last)),
            ("files of NCCL Inspector", lambda: inspector.found(ranks, tree)),
            ("logs of the job", lambda: job_log.read(ranks, seen.agents, host, tree)),
            ("kernel log", lambda: kernel_log.read(ranks, host)),
            ("GPUs", lambda: gpus.read(host, tree)),
        ),
    )
    late = [one for one in (files, servers, inspectors, logs, kernel, cards) if isinstance(one, Unknown)]
    dumps = files if isinstance(files, recorders.RecorderFiles) else recorders.RecorderFiles()
    told = (
        servers if isinstance(servers, worker_server.WorkerServerAnswers) else worker_server.WorkerServerAnswers()
    )
    seen_logs, unread_logs = logs if isinstance(logs, tuple) else _NOTHING
    lines, unread_lines = kernel if isinstance(kernel, tuple) else _NOTHING
    found_gpus, unread_gpus = cards if isinstance(cards, tuple) else _NOTHING
    answered = {one.rank for one in told.recorders}
    unread = (
        *seen.unread,
        *(Unread(what=_name(one), reason=f"did not return within {DEADLINE_S:g} s", host=host) for one in late),
        *dumps.unread,
        *told.unread,
        *unread_logs,
        *unread_lines,
        *unread_gpus,
    )
    return replace(
        seen,
        samples=(*seen.samples[:-1], replace(seen.samples[-1], gpus=found_gpus)),
        recorders=(*told.recorders, *(one for one in dumps.recorders if one.rank not in answered)),
        servers=told.servers,
        inspectors=inspectors if isinstance(inspectors, tuple) else (),
        logs=seen_logs,
        kernel=lines,
        unread=tuple(dict.fromkeys(unread)),
    )


def _name(late: Unknown) -> str:
    return late.reason.partition(" did not ")[0]
