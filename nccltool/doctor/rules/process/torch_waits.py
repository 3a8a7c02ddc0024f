"""Timeouts of torch's watchdog and heartbeat, compared with each other."""

from nccltool.core.unknown import Unknown
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_text, rule
from nccltool.hosts.nccl import values

_DUMP, _HEARTBEAT = "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"
_ERRORS, _CHECK = "TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_COORD_CHECK_MILSEC"
_DEFAULT_HEARTBEAT_S = 480
"""Of torch 2.4 and newer; 600 before."""
_SHORT_S = 60
_WAITS_FOR_DUMP = Version(2, 6)
_TRUE = ("y", "yes", "1", "t", "true")
"""As torch reads them: torch/csrc/distributed/c10d/Utils.hpp (getCvarBool)."""


@rule("TRC022", "warning", covers=())
def dump_outlived(host: JudgedHost) -> Results:
    """torch waits longer for the dump of the flight recorder than the heartbeat monitor waits for torch.

    Why: The monitor kills the process while it waits for the dump, so that the file is missing or cut off.
    Example: TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC=600000 and TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=480
    Instead: TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC=15000
    Source: pytorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp (HeartbeatMonitor)
    """
    dump, waits = host.variable(_DUMP), values.atoi(host.get(_DUMP) or "0")
    heartbeat = values.atoi(host.get(_HEARTBEAT) or "") or _DEFAULT_HEARTBEAT_S
    if dump is not None and waits >= heartbeat * 1000:
        message = f"the monitor ends the process after {heartbeat} s, before the {waits // 1000} s are over"
        yield report.about(dump, message, f"export {_DUMP}=15000")


@for_text("TRC023", "warning", _ERRORS, _CHECK, "NCCL_ASYNC_ERROR_HANDLING", covers=())
def number_without_meaning(_: JudgedHost, variable: Variable, text: str) -> Results:
    """A number for torch's watchdog has no meaning, or makes it poll without a pause.

    Why: torch knows the error handling 0 to 3; with another number, a failed rank may neither end nor abort. An
    interval of 0 ms makes each rank ask the store all the time, which slows rank 0 down.
    Example: TORCH_NCCL_ASYNC_ERROR_HANDLING=4
    Instead: TORCH_NCCL_ASYNC_ERROR_HANDLING=3
    Source: pytorch torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp (ErrorHandlingMode)
    """
    number = text.strip()
    if not number.lstrip("-").isdecimal() or len(number) > 9:
        return
    if variable.name == _CHECK and int(number) <= 0:
        yield report.better_unset(variable, "each rank asks the store without a pause")
    elif variable.name != _CHECK and not 0 <= int(number) <= 3:
        yield report.better_unset(variable, "torch knows the values 0, 1, 2, and 3")


@for_text("TRC027", "warning", _ERRORS, "NCCL_ASYNC_ERROR_HANDLING", covers=(), needs=("versions",))
def dump_cut_short(host: JudgedHost, variable: Variable, text: str) -> Results:
    """torch before 2.6 may abort communicators before the flight recorder dump is written.

    Why: With error handling 1 or 2, torch before 2.6 aborts while another thread writes: the file is missing.
    Newer releases wait for the dump; before 2.7, it must be requested.
    Example: TORCH_NCCL_ASYNC_ERROR_HANDLING=1 and TORCH_NCCL_DUMP_ON_TIMEOUT=1 with torch 2.5
    Instead: TORCH_NCCL_ASYNC_ERROR_HANDLING=3 (the default)
    Source: https://github.com/pytorch/pytorch/issues/121055; https://github.com/pytorch/pytorch/pull/138828;
    https://github.com/pytorch/pytorch/pull/143446
    """
    is_asked = (host.get("TORCH_NCCL_DUMP_ON_TIMEOUT") or "").strip().lower() in _TRUE
    if text.strip() not in ("1", "2") or not is_asked:
        return
    if isinstance(host.torch, Unknown) or host.torch < _WAITS_FOR_DUMP:
        message = "torch before 2.6 aborts while it writes the flight recorder dump"
        yield report.better_set(variable, "3", message, part="")


@for_text("TRC024", "warning", "TORCH_NCCL_NONBLOCKING_TIMEOUT", covers=())
def hasty_initialization(_: JudgedHost, variable: Variable, text: str) -> Results:
    """torch waits less than a minute for NCCL to connect the ranks.

    Why: With many nodes, the first operation takes longer: torch aborts a communicator that would have been ready.
    Example: TORCH_NCCL_NONBLOCKING_TIMEOUT=10
    Instead: unset TORCH_NCCL_NONBLOCKING_TIMEOUT, for 1800 s
    Source: pytorch torch/csrc/distributed/c10d/NCCLUtils.cpp (nccl_nonblocking_timeout)
    """
    if text.strip().isdecimal() and len(text.strip()) < 10 and int(text) < _SHORT_S:
        yield report.better_unset(variable, f"torch gives up after {int(text)} s")
