"""The clock, as the kernel disciplines it. adjtimex without modes changes nothing and needs no right."""

import ctypes
import os
import time
from collections.abc import Mapping

from nccltool.hosts.facts import KernelClock, all_unknown
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

_TIME_ERROR = 5
_STA_UNSYNC, _STA_NANO = 0x0040, 0x2000


class _Timex(ctypes.Structure):
    """struct timex of the kernel; what is behind `jitter` is only room."""

    _fields_ = (
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("rest", ctypes.c_long * 32),
    )


def read(tree: Tree, env: Mapping[str, str]) -> KernelClock:
    """Time and discipline."""
    del env
    if not tree.live:
        return all_unknown(KernelClock, CAPTURED)
    state = _Timex()
    answer = ctypes.CDLL(None, use_errno=True).adjtimex(ctypes.byref(state))
    if answer < 0:
        return all_unknown(KernelClock, f"adjtimex failed: {os.strerror(ctypes.get_errno())}", time_s=time.time())
    return KernelClock(
        time_s=time.time(),
        synchronised=answer != _TIME_ERROR and not state.status & _STA_UNSYNC,
        max_error_s=state.maxerror / 1e6,
        offset_s=state.offset / (1e9 if state.status & _STA_NANO else 1e6),
    )


SOURCES = (Source.quick("clock", "clock", read),)
