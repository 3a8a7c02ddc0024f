"""Coordinators and process numbers of frameworks other than torch."""

import re
from collections.abc import Iterator

from nccltool.core.findings import Severity
from nccltool.doctor import report
from nccltool.doctor.rules.base import (
    JudgedHost,
    Results,
    Unknown,
    Variable,
    escaped,
    for_text,
    is_loopback_name,
    is_unspecified,
)
from nccltool.hosts.facts import or_none

_MEETING = {
    "JAX_COORDINATOR_ADDRESS": "JAX",
    "DMLC_PS_ROOT_URI": "the parameter server",
    "PADDLE_MASTER": "Paddle",
    "HOROVOD_GLOO_RENDEZVOUS_ADDR": "Horovod",
}
"""Variable -> who connects to the address."""
_SEVERAL = {"PADDLE_TRAINER_ENDPOINTS": "Paddle", "TF_CONFIG": "TensorFlow"}
"""Variable with the addresses of all nodes -> who connects to them."""
_ADDRESS = re.compile(r"(?<![\w.-])(?P<host>\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}(?!\d)")


@for_text("LCH029", "warning", *_MEETING, *_SEVERAL, covers=())
def coordinator_at_loopback(host: JudgedHost, variable: Variable, text: str) -> Results:
    """A framework's coordinator has a loopback address in a multi-node job.

    Why: Each node looks for the coordinator on itself. Only the first node finds one; the others wait until they
    time out, or start their own cluster.
    Example: JAX_COORDINATOR_ADDRESS=localhost:1234 with two nodes
    Instead: JAX_COORDINATOR_ADDRESS=<address of the first node>:1234
    Source: https://docs.jax.dev/en/latest/_autosummary/jax.distributed.initialize.html;
    https://www.tensorflow.org/tutorials/distribute/multi_worker_with_keras;
    https://paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/ParallelEnv_en.html; Horovod,
    horovod/common/gloo/gloo_context.cc; MXNet documentation, distributed training
    """
    if (or_none(host.nodes) or 0) < 2:
        return
    who = _MEETING.get(variable.name) or _SEVERAL[variable.name]
    inside = next(
        (one for one in _hosts(variable.name, text) if is_loopback_name(one) or is_unspecified(one)), None
    )
    if inside is not None:
        message = f"each node looks for {who} on itself, because {escaped(inside[:40])} means the node itself"
        remedy = f"set {variable.name} to addresses in the network that connects the nodes"
        yield report.about(variable, message, remedy, part=inside)


def _hosts(name: str, text: str) -> Iterator[str]:
    if name in _SEVERAL:
        yield from (found["host"].strip("[]") for found in _ADDRESS.finditer(text))
        return
    rest = text.strip().rpartition("://")[2].partition("/")[0]
    found = _ADDRESS.fullmatch(rest)
    yield found["host"].strip("[]") if found else rest


_RANKS = {"JAX_PROCESS_ID": "JAX_NUM_PROCESSES", "PADDLE_TRAINER_ID": "PADDLE_TRAINERS_NUM"}


_WHOLE = re.compile(r"\s*[+-]?\d{1,4000}\s*")
"""What Python's int() takes; it refuses more than 4,300 digits."""


@for_text("LCH031", "error", *_RANKS, covers=())
def process_number_out_of_range(host: JudgedHost, variable: Variable, text: str) -> Results:
    """A JAX or Paddle process number is not a number, is negative, or is not below the number of processes.

    Why: Paddle refuses it. JAX does not read its two variables; programs that pass them on are refused by its
    coordinator, so the finding is a warning there.
    Example: PADDLE_TRAINER_ID=2 and PADDLE_TRAINERS_NUM=2
    Instead: PADDLE_TRAINER_ID=1
    Source: https://paddlepaddle.org.cn/documentation/docs/en/api/paddle/distributed/ParallelEnv_en.html; Paddle
    python/paddle/distributed/parallel.py (init_parallel_env);
    XLA, coordination_service.cc (RegisterTask);
    https://docs.jax.dev/en/latest/_autosummary/jax.distributed.initialize.html
    """
    of_paddle = variable.name.startswith("PADDLE")
    count = host.variable(_RANKS[variable.name])
    unread = [one for one in (variable, count) if one and one.value and not _WHOLE.fullmatch(one.value)]
    for one in unread:
        if of_paddle:
            yield report.about(one, "Paddle ends with an error: it is not a whole number", "set a whole number")
        else:
            yield Unknown(f"{one.name} is not a whole number, and JAX does not read it")
    if unread:
        return
    process, size = int(text), int(count.value) if count and count.value else 0
    if process < 0 or 0 < size <= process:
        why = f"{size} processes are numbered from 0 to {size - 1}" if size > 0 else "process numbers start at 0"
        severity: Severity | None = None if of_paddle else "warning"
        remedy = f"number the processes from 0 to {_RANKS[variable.name]} - 1"
        yield report.about(variable, why, remedy, severity=severity)
