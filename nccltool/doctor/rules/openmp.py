"""OpenMP: settings that bind threads to processors."""

import re

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
