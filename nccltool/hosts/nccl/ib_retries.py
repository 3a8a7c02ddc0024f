"""How long an InfiniBand or RoCE adapter tries to get a packet through before NCCL hears of it."""

from nccltool.core.versions import Version

TICK_S = 4.096e-6
"""The unit of the ACK timeout: section 12.7.34 of the InfiniBand specification."""
RETRIES = 7
"""NCCL_IB_RETRY_CNT, of all releases; src/transport/net_ib/connect.cc."""
_TIMEOUTS = ((Version(2, 23, 4), 20), (Version(2, 14, 3), 18), (Version(0), 14))
"""Release from which NCCL_IB_TIMEOUT has this default, the newest first."""
_NEVER_ENDS = 32
"""From here on, and at 0, the adapter waits without an end."""


def default_timeout(nccl: Version | None) -> int:
    """NCCL_IB_TIMEOUT where nobody sets it; that of the newest where the release is not known."""
    return next(value for since, value in _TIMEOUTS if nccl is None or nccl >= since)


def seconds(timeout: int | None, retries: int | None, nccl: Version | None) -> float:
    """From the first packet that is lost to the error, with these settings; None = not set."""
    if timeout is None or not 0 < timeout < _NEVER_ENDS:
        timeout = default_timeout(nccl)
    again = RETRIES if retries is None else min(max(retries, 0), RETRIES)  # a field of three bits
    return float(TICK_S * 2**timeout * (1 + again))
