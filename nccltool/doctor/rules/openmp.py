"""OpenMP: settings that bind threads to processors."""

import re

from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_text

_BOUND = {
    "OMP_PROC_BIND": re.compile(r"(true|close|spread|master|primary)\b", re.IGNORECASE),
    "GOMP_CPU_AFFINITY": re.compile(r"\d"),
    "KMP_AFFINITY": re.compile(r".*\b(compact|scatter|explicit|balanced)\b", re.IGNORECASE),
}


@for_text("OMP001", "warning", *_BOUND, covers=())
def threads_bound_to_one_core(_: JudgedHost, variable: Variable, text: str) -> Results:
    """OpenMP binds the threads of each rank to processors.

    Why: The OpenMP library binds the main thread to a single processor when torch is imported. NCCL's threads and
    the workers of a data loader inherit that: even a single rank then has one core for all of them. All ranks of a
    node begin with the same processor.
    Example: OMP_PROC_BIND=close
    Instead: unset OMP_PROC_BIND, and let srun or numactl bind whole ranks
    Source: https://github.com/pytorch/pytorch/issues/91989; https://github.com/huggingface/accelerate/issues/3911
    """
    if _BOUND[variable.name].match(text.strip()):
        message = "the main thread, NCCL's threads, and data loaders are bound to a single processor"
        yield report.better_unset(variable, message)


_SPINNING = {
    "OMP_WAIT_POLICY": re.compile(r"active", re.IGNORECASE),
    "GOMP_SPINCOUNT": re.compile(r"inf(inity|inite)?", re.IGNORECASE),
    "KMP_BLOCKTIME": re.compile(r"inf(inity|inite)?|2147483647", re.IGNORECASE),
}


@for_text("OMP002", "warning", *_SPINNING, covers=())
def threads_that_spin(host: JudgedHost, variable: Variable, text: str) -> Results:
    """Idle threads of OpenMP spin instead of sleeping, in a job with several ranks on a node.

    Why: The threads of all ranks stay busy between operations and take processors from NCCL's proxy threads and
    from data loaders.
    Example: OMP_WAIT_POLICY=ACTIVE
    Instead: unset OMP_WAIT_POLICY
    Source: OpenMP specification, OMP_WAIT_POLICY; GCC libgomp manual, GOMP_SPINCOUNT; Intel OpenMP, KMP_BLOCKTIME
    """
    ranks = host.local_ranks
    if _SPINNING[variable.name].fullmatch(text.strip()) and (isinstance(ranks, Unknown) or ranks > 1):
        yield report.better_unset(variable, "idle threads take processors from NCCL's threads and data loaders")


@for_text("OMP003", "warning", "OMP_THREAD_LIMIT", "OMP_STACKSIZE", covers=())
def starved_threads(_: JudgedHost, variable: Variable, text: str) -> Results:
    """OpenMP may have one thread only, or gives its threads a stack of less than 64 KiB.

    Why: A limit of 1 makes all operations on CPUs serial, those of Gloo and of data loading too. A thread that
    runs out of stack ends the process with SIGSEGV. OMP_STACKSIZE without a unit counts KiB.
    Example: OMP_STACKSIZE=16
    Instead: unset OMP_STACKSIZE
    Source: OpenMP specification, OMP_THREAD_LIMIT and OMP_STACKSIZE
    """
    size = re.fullmatch(r"\s*(\d{1,12})\s*([BKMG]?)\s*", text, re.ASCII | re.IGNORECASE)
    if size is None:
        return
    if variable.name == "OMP_THREAD_LIMIT":
        if int(size[1]) == 1 and not size[2]:
            yield report.better_unset(variable, "each rank has a single thread for operations on the CPU")
    elif int(size[1]) * 1024 ** "BKMG".index(size[2].upper() or "K") < 64 * 1024:
        yield report.better_unset(variable, "the stack of a thread is below 64 KiB")
