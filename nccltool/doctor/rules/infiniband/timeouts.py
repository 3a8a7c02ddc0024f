"""Time-outs and retries of RDMA."""

from nccltool.core.units import format_seconds
from nccltool.core.versions import Version
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, known, rule

_TICK_S = 4.096e-6
"""The unit of the ACK timeout: section 12.7.34 of the InfiniBand specification."""

_TIMEOUTS = ((Version(2, 23, 4), 20), (Version(2, 14, 3), 18), (Version(0), 14))
"""Release from which NCCL_IB_TIMEOUT has this default, the newest first."""

_RETRIES = 7

_LEAST_TIMEOUT, _LARGE = 18, 8

_TORCH_SHORTER = Version(2, 2)
"""The release of torch from which its groups wait 10 minutes for NCCL; before it was 30."""


@rule("IB031", "error")
def endless_ack_timeout(host: JudgedHost) -> Results:
    """NCCL_IB_TIMEOUT is 0 or less, or 32 or more.

    Why: Such a timeout never ends, so a dead peer hangs the job. The field has five bits, and 0 means for ever.
    Example: NCCL_IB_TIMEOUT=0
    Instead: NCCL_IB_TIMEOUT=22
    Source: NCCL user guide, NCCL_IB_TIMEOUT
    """
    given = host.number("NCCL_IB_TIMEOUT")
    if given and not 0 < given[1] < 32:
        yield report.better_unset(
            given[0], "the adapter waits for ever for an answer", "write 20 to 23, or unset NCCL_IB_TIMEOUT"
        )


@rule("IB032", "warning")
def short_ack_timeout(host: JudgedHost) -> Results:
    """NCCL_IB_TIMEOUT is below 18 in a job of more than 8 nodes.

    Why: A short congestion becomes an error with status 12. 17 is 0.5 s; the default is 20, 4.3 s.
    Example: NCCL_IB_TIMEOUT=14
    Instead: unset NCCL_IB_TIMEOUT, or 22 in large fabrics
    Source: NCCL user guide, NCCL_IB_TIMEOUT
    """
    given = host.number("NCCL_IB_TIMEOUT")
    if given and 0 < given[1] < _LEAST_TIMEOUT and known(host.nodes) > _LARGE:
        yield report.better_unset(
            given[0],
            f"the adapter waits {format_seconds(_TICK_S * 2 ** given[1])} for an answer; {host.nodes} nodes",
            "unset NCCL_IB_TIMEOUT, or write 22",
        )


@rule("IB033", "warning", covers=("IB-033", "TRC-012"))
def timeout_beyond_torch(host: JudgedHost) -> Results:
    """The adapter goes on trying for longer than torch waits.

    Why: torch ends the job before NCCL can say which link failed. The adapter tries NCCL_IB_RETRY_CNT times, each
    time for 4.096 us x 2^NCCL_IB_TIMEOUT.
    Example: NCCL_IB_TIMEOUT=25 with 7 retries: 16 minutes
    Instead: NCCL_IB_TIMEOUT=22, or a longer timeout of init_process_group
    Source: NCCL user guide, NCCL_IB_TIMEOUT; pytorch, default_pg_nccl_timeout
    """
    timeout, retries = host.number("NCCL_IB_TIMEOUT"), host.number("NCCL_IB_RETRY_CNT")
    given = timeout or retries
    if given is None or (timeout and not 0 < timeout[1] < 32):
        return
    exponent = timeout[1] if timeout else _default_timeout(host)
    seconds = _TICK_S * 2**exponent * max(retries[1] if retries else _RETRIES, 0)
    if seconds <= 600:  # no release of torch waits for less, and none for more than 1800
        return
    limit = 1800 if seconds > 1800 or known(host.torch) < _TORCH_SHORTER else 600
    if seconds > limit:
        yield report.about(
            given[0],
            f"the adapter tries for {format_seconds(seconds)}, torch waits {limit} s at most by itself",
            "write NCCL_IB_TIMEOUT=22 or 23, or give init_process_group a longer timeout",
        )


def _default_timeout(host: JudgedHost) -> int:
    version = known(host.nccl)
    return next(value for since, value in _TIMEOUTS if version >= since)


@rule("IB034", "error")
def retries_out_of_range(host: JudgedHost) -> Results:
    """NCCL_IB_RETRY_CNT is not in 0 to 7.

    Why: The field has three bits. What a larger number becomes is up to the adapter.
    Example: NCCL_IB_RETRY_CNT=10
    Instead: NCCL_IB_RETRY_CNT=7
    Source: NCCL user guide, NCCL_IB_RETRY_CNT
    """
    given = host.number("NCCL_IB_RETRY_CNT")
    if given and not 0 <= given[1] <= _RETRIES:
        yield report.better_unset(given[0], "a retry count is 0 to 7", "unset NCCL_IB_RETRY_CNT, which is 7")


@rule("IB035", "warning")
def fewer_retries(host: JudgedHost) -> Results:
    """NCCL_IB_RETRY_CNT is lower than 7.

    Why: With fewer retries a short loss of a link ends the job.
    Example: NCCL_IB_RETRY_CNT=3
    Instead: NCCL_IB_RETRY_CNT=7
    Source: NCCL user guide, NCCL_IB_RETRY_CNT
    """
    given = host.number("NCCL_IB_RETRY_CNT")
    if given and 0 <= given[1] < _RETRIES:
        yield report.better_unset(
            given[0],
            f"{given[1]} retries: a short loss of a link ends the job",
            "unset NCCL_IB_RETRY_CNT, which is 7",
        )


@rule("IB047", "warning")
def fatal_events_ignored(host: JudgedHost) -> Results:
    """NCCL_IB_RETURN_ASYNC_EVENTS=0.

    Why: A fatal event of the adapter no longer ends communication: the job hangs until a watchdog ends it.
    Example: NCCL_IB_RETURN_ASYNC_EVENTS=0
    Instead: unset NCCL_IB_RETURN_ASYNC_EVENTS
    Source: NCCL user guide, NCCL_IB_RETURN_ASYNC_EVENTS
    """
    given = host.number("NCCL_IB_RETURN_ASYNC_EVENTS")
    if given and given[1] == 0:
        yield report.better_unset(given[0], "a fatal event of an adapter does not end the job")
