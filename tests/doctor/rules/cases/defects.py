"""Cases of nccltool/doctor/rules/defects.py."""

from tests.doctor.rules.base import UNREAD, host, of

_ID = {"NCCL_COMM_ID": "10.0.0.1:29500"}
_LONG = {"system": f"{'x' * 2000}=1"}

CASES = (
    of(
        "BUG001",
        fires=[host(_ID, nccl=(2, 29, 7))],
        silent=[host(nccl=None), host(_ID), host(_ID, nccl=(2, 28, 9))],
        unknown=[UNREAD, host(_ID, nccl=None)],
    ),
    of(
        "BUG002",
        fires=[host(files=_LONG, nccl=(2, 21, 5))],
        silent=[host(nccl=None), host(files=_LONG), host(files={"system": "A=1"}, nccl=(2, 21, 5))],
        unknown=[UNREAD, host(files=_LONG, nccl=None)],
    ),
)
