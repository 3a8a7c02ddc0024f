"""Libraries and engines alongside NCCL: values of the wrong type, and debugging left on."""

import re
from collections.abc import Mapping

from nccltool.core.text import shortened
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, escaped, for_text, rule
from nccltool.hosts.nccl import neighbor_values

_NOT_EXPANDED = re.compile(r"\$[\w({]")
_VERBOSE: Mapping[str, str] = {
    "AMD_LOG_LEVEL": r"[3-9]",
    "FI_LOG_LEVEL": r"(?i)debug",
    "NIXL_LOG_LEVEL": r"(?i)trace",
    "NVSHMEM_DEBUG": r"(?i)trace",
    "SHARP_COLL_LOG_LEVEL": r"[45]",
    "VLLM_TRACE_FUNCTION": r"[1-9]",
    "UCX_LOG_LEVEL": r"(?i)debug|trace|req|data|async|func|poll",
}
"""Levels at which a library writes lines for single operations."""


@rule("PLG025", "warning", covers=())
def value_of_another_type(host: JudgedHost) -> Results:
    """A library or engine cannot read the value: for example, a word instead of a number, or an unknown unit.

    Why: UCX, Open MPI, Slurm, vLLM, and Ray refuse such a value and do not start. Others ignore it, or drop what
    follows the digits: libfabric reads 64K as 64.
    Example: UCX_MEMTYPE_CACHE=false
    Instead: UCX_MEMTYPE_CACHE=n
    Source: the types in the sources of UCX, libfabric, Open MPI, vLLM, and others (neighbor_values.json)
    """
    known = neighbor_values.every()
    for variable in host.settings.all():
        accepted = known.get(variable.name)
        value = variable.value
        if accepted is None or _NOT_EXPANDED.search(value) or accepted.takes(value):
            continue
        if not value and not accepted.refuses_empty:
            continue
        message = f"{accepted.component} expects {accepted.expected}: {accepted.effect}"
        yield report.about(variable, message, f"write {accepted.expected}, or unset {variable.name}")


@for_text("DBG015", "warning", *_VERBOSE, covers=())
def neighbor_traced(_: JudgedHost, variable: Variable, text: str) -> Results:
    """A library alongside NCCL writes a line for every operation.

    Why: Each message, kernel, or call is logged, which slows every step down and fills disks. Such a level is
    meant for a single run.
    Example: UCX_LOG_LEVEL=trace
    Instead: unset UCX_LOG_LEVEL
    Source: UCX, libfabric, NVSHMEM, NIXL, vLLM, and ROCm documentation, log levels
    """
    if re.fullmatch(_VERBOSE[variable.name], text.strip()):
        shown = escaped(shortened(text.strip(), 20))
        yield report.better_unset(variable, f"the level {shown} logs single operations")
