"""torch variables: blocking waits, the watchdog, the flight recorder, and costly diagnostics."""

import re

from nccltool.core.findings import Severity
from nccltool.core.text import escaped
from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, for_text, for_value, rule
from nccltool.hosts.facts import known
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.settings import Variable


def _set(host: JudgedHost, *names: str) -> Variable | None:
    """The first of these names that is set: torch looks in this order."""
    return next((variable for name in names if (variable := host.variable(name)) is not None), None)


def _on(host: JudgedHost, *names: str) -> Variable | None:
    """The first of these names that is set, when it is on."""
    variable = _set(host, *names)
    return variable if variable is not None and values.torch_bool(variable.value) is True else None


@rule("TRC001", "warning")
def blocking_wait(host: JudgedHost) -> Results:
    """TORCH_NCCL_BLOCKING_WAIT is on.

    Why: The watchdog does not start, each wait blocks the host thread, and errors are handled differently.
    Example: TORCH_NCCL_BLOCKING_WAIT=1
    Instead: unset TORCH_NCCL_BLOCKING_WAIT
    Source: https://github.com/pytorch/pytorch/pull/138001
    """
    if variable := _on(host, "TORCH_NCCL_BLOCKING_WAIT", "NCCL_BLOCKING_WAIT"):
        yield report.better_unset(variable, "each wait blocks the host thread, and no watchdog runs", part="")


_HANDLING = ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING")


@rule("TRC002", "warning")
def no_error_handling(host: JudgedHost) -> Results:
    """TORCH_NCCL_ASYNC_ERROR_HANDLING=0 disables error handling.

    Why: When a collective fails or times out, all ranks hang.
    Example: TORCH_NCCL_ASYNC_ERROR_HANDLING=0
    Instead: set TORCH_NCCL_ASYNC_ERROR_HANDLING=3 (the default)
    Source: pytorch documentation, torch_nccl_environment_variables
    """
    variable = _set(host, *_HANDLING)
    if variable and host.integer(variable.name) == 0 and variable.value.strip().startswith(("0", "+0", "-0")):
        yield report.better_unset(variable, "when a collective fails, all ranks hang")


@rule("TRC003", "warning")
def abort_without_end(host: JudgedHost) -> Results:
    """TORCH_NCCL_ASYNC_ERROR_HANDLING=2 aborts communicators but keeps the process running.

    Why: Only programs that handle aborted communicators can continue correctly.
    Example: TORCH_NCCL_ASYNC_ERROR_HANDLING=2
    Instead: set TORCH_NCCL_ASYNC_ERROR_HANDLING=3 (the default)
    Source: pytorch documentation, torch_nccl_environment_variables
    """
    variable = _set(host, *_HANDLING)
    if variable and host.integer(variable.name) == 2:
        remedy = f"unset {variable.name}, unless the program handles aborted communicators"
        yield report.better_unset(variable, "communicators are aborted, but the process keeps running", remedy)


@for_text("TRC004", "warning", "TORCH_NCCL_ENABLE_MONITORING")
def no_monitor(_: JudgedHost, variable: Variable, text: str) -> Results:
    """TORCH_NCCL_ENABLE_MONITORING is off.

    Why: Nothing kills a process whose watchdog is stuck.
    Example: TORCH_NCCL_ENABLE_MONITORING=0
    Instead: unset TORCH_NCCL_ENABLE_MONITORING
    Source: pytorch documentation, torch_nccl_environment_variables
    """
    if values.torch_bool(text) is False:
        yield report.better_unset(variable, "nothing kills a process whose watchdog is stuck", part="")


@for_text("TRC005", "warning", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC")
def short_heartbeat(_: JudgedHost, variable: Variable, seconds: str) -> Results:
    """TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC is two minutes or less.

    Why: The monitor kills processes while they write a checkpoint or compile. Two minutes, an early default of
    torch, ended jobs that would have continued.
    Example: TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=10
    Instead: set TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC to at least 480 (the default)
    Source: pytorch documentation, torch_nccl_environment_variables; https://github.com/pytorch/pytorch/pull/116267
    """
    if values.atoi(seconds) <= 120:
        yield report.better_unset(variable, "the monitor kills processes during checkpoints and compilation")


@rule("TRC006", "warning")
def empty_recorder(host: JudgedHost) -> Results:
    """The flight recorder's buffer size is 0, although dumps are enabled.

    Why: Nothing is recorded, so there is nothing to dump when a collective times out.
    Example: TORCH_FR_BUFFER_SIZE=0
    Instead: TORCH_FR_BUFFER_SIZE=2000
    Source: pytorch documentation, torch_nccl_environment_variables
    """
    variable = _set(host, "TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE")
    dump = _on(host, "TORCH_FR_DUMP_ON_TIMEOUT", "TORCH_NCCL_DUMP_ON_TIMEOUT")
    if variable and variable.value and values.atoi(variable.value) <= 0 and dump:
        yield report.better_set(variable, "2000", "the flight recorder records nothing to dump")


@rule("TRC007", "warning", needs=("files",))
def dump_folder_unusable(host: JudgedHost) -> Results:
    """The flight recorder writes its dump to a directory that is not writable or to slow shared storage.

    Why: The dump is lost or comes too late: all ranks write at once, just before they are killed.
    Example: TORCH_FR_DUMP_TEMP_FILE=/shared/trace_
    Instead: TORCH_FR_DUMP_TEMP_FILE=/tmp/nccl_trace_rank_
    Source: pytorch documentation, torch_nccl_environment_variables
    """
    variable = _set(host, "TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")
    if variable is None or not variable.value:
        return
    file = host.facts.file(variable.name)
    if file is None:
        yield Unknown(f"no facts about {escaped(variable.value[:80])}")
        return
    writable = known(file.parent_writable)
    if not writable or file.is_shared:
        yield report.better_set(
            variable,
            "/tmp/nccl_trace_rank_",  # noqa: S108 - it is a value, not a file of ours
            "the directory is on a shared file system" if writable else "the directory is not writable",
            "use a directory on a local disk",
            evidence=(f"file system: {file.fstype}",) if writable else (),
            severity="info" if writable else None,
        )


@for_text("TRC021", "warning", "TORCH_NCCL_RETHROW_CUDA_ERRORS", covers=())
def swallowed_timeouts(_: JudgedHost, variable: Variable, text: str) -> Results:
    """TORCH_NCCL_RETHROW_CUDA_ERRORS is off.

    Why: The watchdog swallows timeouts as well as CUDA errors: a job that should end hangs.
    Example: TORCH_NCCL_RETHROW_CUDA_ERRORS=0
    Instead: unset TORCH_NCCL_RETHROW_CUDA_ERRORS
    Source: https://github.com/pytorch/pytorch/pull/196187
    """
    if values.torch_bool(text) is False:
        yield report.better_unset(variable, "the watchdog swallows timeouts, and the job hangs", part="")


_COSTLY = (
    *("TORCH_NCCL_ENABLE_TIMING", "TORCH_NCCL_DESYNC_DEBUG", "TORCH_NCCL_NAN_CHECK", "TORCH_FR_CPP_STACK"),
    *("TORCH_NCCL_TRACE_CPP_STACK", "TORCH_SHOW_CPP_STACKTRACES", "NCCL_DESYNC_DEBUG", "NCCL_ENABLE_TIMING"),
)


_COSTLIEST = ("TORCH_DISTRIBUTED_DEBUG", "TORCH_NCCL_NAN_CHECK")


@rule("TRC008", "info")
def diagnostics_left_on(host: JudgedHost) -> Results:
    """torch diagnostics that slow down every step are enabled.

    Why: These diagnostics add synchronization, store traffic, or slow symbol lookups.
    Example: TORCH_DISTRIBUTED_DEBUG=DETAIL
    Instead: unset TORCH_DISTRIBUTED_DEBUG once the bug is found
    Source: pytorch documentation
    """
    detail = host.variable("TORCH_DISTRIBUTED_DEBUG")
    found = [detail] if detail and detail.value.upper() == "DETAIL" else []
    found += [variable for name in _COSTLY if (variable := _on(host, name))]
    alone = host.nodes == 1 and host.local_ranks == 1  # nobody to wait for
    for variable in found:
        severity: Severity | None = "warning" if variable.name in _COSTLIEST and not alone else None
        yield report.better_unset(variable, f"{variable.name} slows every step", part="", severity=severity)


@rule("TRC009", "warning")
def nonblocking_communicators(host: JudgedHost) -> Results:
    """TORCH_NCCL_USE_COMM_NONBLOCKING is on.

    Why: Users report hangs with NCCL 2.26; NVIDIA's images set it to 0.
    Example: TORCH_NCCL_USE_COMM_NONBLOCKING=1
    Instead: unset TORCH_NCCL_USE_COMM_NONBLOCKING
    Source: https://github.com/pytorch/pytorch/issues/153960
    """
    if variable := _on(host, "TORCH_NCCL_USE_COMM_NONBLOCKING"):
        yield report.better_unset(variable, "users report hangs with nonblocking communicators", part="")


@for_value("TRC010", "info", "TORCH_NCCL_AVOID_RECORD_STREAMS")
def idle_torch_variable(host: JudgedHost, variable: Variable, _: str) -> Results:
    """TORCH_NCCL_AVOID_RECORD_STREAMS is set, but this torch version already does this by default.

    Why: This has been the default since torch 2.8; setting the variable only prints a warning.
    Example: TORCH_NCCL_AVOID_RECORD_STREAMS=1
    Instead: unset TORCH_NCCL_AVOID_RECORD_STREAMS
    Source: pytorch ProcessGroupNCCL.cpp
    """
    if known(host.torch) >= Version(2, 8):
        yield report.better_unset(variable, f"already the default in torch {host.torch}", part="")


_NVIDIAS_EXPERIMENT = re.compile(r"\.nv25\.0?4\b")
"""The local version of torch in NVIDIA's container 25.04."""


@for_text("TRC028", "warning", "TORCH_NCCL_AVOID_RECORD_STREAMS", covers=(), needs=("versions",))
def sends_not_awaited(host: JudgedHost, variable: Variable, text: str) -> Results:
    """TORCH_NCCL_AVOID_RECORD_STREAMS is on with torch from NVIDIA's 25.04 container.

    Why: Only this build also applies it to sends and receives. Megatron-LM frees a send's buffer before the send
    completes: with virtual pipeline stages, the loss is wrong, without an error.
    Example: TORCH_NCCL_AVOID_RECORD_STREAMS=1 in nvcr.io/nvidia/pytorch:25.04-py3
    Instead: unset TORCH_NCCL_AVOID_RECORD_STREAMS
    Source: https://github.com/NVIDIA/Megatron-LM/issues/1586; https://github.com/NVIDIA/Megatron-LM/pull/4047
    """
    if values.torch_bool(text) is True and _NVIDIAS_EXPERIMENT.search(known(host.facts.versions.torch)):
        message = "this torch reuses buffers of unfinished sends: pipelines may compute a wrong loss"
        yield report.better_unset(variable, message, part="")


@rule("TRC011", "warning")
def hook_with_expandable_segments(host: JudgedHost) -> Results:
    """Tensor registration with NCCL is on, but the allocator uses expandable segments.

    Why: torch then disables registration and reports this only in its log.
    Example: TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK=1 and PYTORCH_ALLOC_CONF=expandable_segments:True
    Instead: set only one of the two variables
    Source: pytorch ProcessGroupNCCL.cpp
    """
    name = "USE_TENSOR_REGISTER_ALLOCATOR_HOOK"
    variable = _on(host, f"TORCH_NCCL_{name}", f"NCCL_{name}")
    conf = _set(host, "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
    if variable and conf and "expandable_segments:true" in conf.value.replace(" ", "").lower():
        message = f"torch does not register tensors: {conf.name} enables expandable segments"
        remedy = f"unset {variable.name} or remove expandable_segments from {conf.name}"
        lines = (f"{escaped(conf.origin)}: {conf.name}={escaped(conf.value[:80])}",)
        yield report.better_unset(variable, message, remedy, part="", evidence=lines)


@for_text("TRC012", "error", "TORCH_DISTRIBUTED_DEBUG", covers=())
def unknown_debug_level(_: JudgedHost, variable: Variable, level: str) -> Results:
    """TORCH_DISTRIBUTED_DEBUG is not OFF, INFO, or DETAIL.

    Why: torch raises an error when torch.distributed is loaded.
    Example: TORCH_DISTRIBUTED_DEBUG=VERBOSE
    Instead: TORCH_DISTRIBUTED_DEBUG=INFO
    Source: pytorch torch/csrc/distributed/c10d/debug.cpp (loadDebugLevelFromEnvironment)
    """
    if level.upper() not in ("OFF", "INFO", "DETAIL"):
        yield report.better_unset(variable, "torch raises an error: it expects OFF, INFO, or DETAIL")


@for_value("TRC014", "warning", "PYTORCH_NO_CUDA_MEMORY_CACHING", "PYTORCH_NO_HIP_MEMORY_CACHING", covers=())
def no_memory_cache(_: JudgedHost, variable: Variable, __: str) -> Results:
    """torch's caching allocator is switched off; any value, even 0, does that.

    Why: Each tensor then allocates and frees GPU memory, which synchronizes the GPU; more memory is needed. The
    switch is meant for memory checkers.
    Example: PYTORCH_NO_CUDA_MEMORY_CACHING=0
    Instead: unset PYTORCH_NO_CUDA_MEMORY_CACHING
    Source: https://github.com/pytorch/pytorch/issues/145661; pytorch documentation, CUDA environment variables
    """
    yield report.better_unset(variable, "torch does not cache GPU memory, whatever the value is", part="")


@for_text("TRC015", "warning", "PYTORCH_ALLOC_CONF", covers=())
def unread_allocator_options(host: JudgedHost, variable: Variable, text: str) -> Results:
    """PYTORCH_ALLOC_CONF is set for a torch release whose CUDA allocator does not read it.

    Why: Before torch 2.10, the allocator reads PYTORCH_CUDA_ALLOC_CONF alone: the options have no effect.
    Example: PYTORCH_ALLOC_CONF=expandable_segments:True with torch 2.9
    Instead: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
    Source: https://github.com/pytorch/pytorch/issues/183387
    """
    old = host.variable("PYTORCH_CUDA_ALLOC_CONF") or host.variable("PYTORCH_HIP_ALLOC_CONF")
    if not old and known(host.torch) < Version(2, 10):
        message = f"torch {host.torch} does not read PYTORCH_ALLOC_CONF"
        fix = (*report.unset(variable), report.Fix(name="PYTORCH_CUDA_ALLOC_CONF", value=text))
        yield report.about(variable, message, "rename it to PYTORCH_CUDA_ALLOC_CONF", part="", fix=fix)


@rule("TRC017", "warning", covers=())
def torch_number_with_unit(host: JudgedHost) -> Results:
    """A number for torch is followed by a unit or other text.

    Why: torch reads the digits and drops the rest: 10s of a variable in milliseconds is 10 ms.
    Example: TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC=10s
    Instead: TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC=10000
    Source: pytorch c10d/Utils.hpp (getCvarInt, std::stoi)
    """
    for variable, entry in host.listed("TORCH_NCCL_", "TORCH_FR_"):
        numeric = entry.type in ("integer", "bytes") and entry.component == "torch"
        found = re.fullmatch(r"\s*([+-]?\d+)([^\s\d].*)", variable.value, re.ASCII) if numeric else None
        if found:
            message = f"torch reads {found[1][:20]} and drops {escaped(found[2][:20])!r}"
            yield report.about(variable, message, "write the number without a unit", part=found[2])


@rule("TRC019", "error", covers=())
def torch_number_too_large(host: JudgedHost) -> Results:
    """A number for torch does not fit into 32 bits.

    Why: torch raises an error while the process group is created.
    Example: TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=9999999999
    Instead: TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=86400
    Source: pytorch c10d/Utils.hpp (getCvarInt, std::stoi)
    """
    for variable, entry in host.listed("TORCH_NCCL_", "TORCH_FR_"):
        numeric = entry.type in ("integer", "bytes") and entry.component == "torch"
        found = re.match(r"\s*[+-]?(\d{1,40})", variable.value, re.ASCII) if numeric else None
        if found and int(found[1]) >= 2**31:
            yield report.better_unset(variable, "torch raises an error: the number is larger than 2147483647")


@for_text("TRC020", "warning", "TORCH_CPP_LOG_LEVEL", covers=())
def unknown_cpp_log_level(_: JudgedHost, variable: Variable, level: str) -> Results:
    """TORCH_CPP_LOG_LEVEL is not INFO, WARNING, ERROR, FATAL, or a number.

    Why: torch prints a warning and logs only warnings: the expected log is missing when a job fails.
    Example: TORCH_CPP_LOG_LEVEL=DEBUG
    Instead: TORCH_CPP_LOG_LEVEL=INFO
    Source: pytorch c10/util/Logging.cpp; documentation, torch.distributed, logging
    """
    if level.strip().upper() not in ("INFO", "WARNING", "ERROR", "FATAL") and not re.fullmatch(
        r"-?\d+", level.strip()
    ):
        yield report.better_set(variable, "INFO", "torch does not know this level and logs only warnings")
