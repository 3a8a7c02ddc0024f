"""Cases of nccltool/doctor/rules/process/torch_waits.py."""

from nccltool.hosts.facts import Versions
from tests.doctor.rules.base import host, of

_DUMP, _BEAT = "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"
_DUMPS = "TORCH_NCCL_DUMP_ON_TIMEOUT"

CASES = (
    of(
        "TRC022",
        fires=[host({_DUMP: "600000"}), host({_DUMP: "60000", _BEAT: "60"})],
        silent=[host(), host({_DUMP: "15000"}), host({_DUMP: "600000", _BEAT: "900"}), host({_BEAT: "1"})],
    ),
    of(
        "TRC027",
        fires=[
            host({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1", _DUMPS: "1"}),
            host({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "2", _DUMPS: "true"}, versions=Versions(torch="2.5.1")),
        ],
        silent=[
            host(),
            host({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1"}),
            host({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1", _DUMPS: "0"}),
            host({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "3", _DUMPS: "1"}),
            host({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "1", _DUMPS: "1"}, versions=Versions(torch="2.6.0")),
        ],
    ),
    of(
        "TRC023",
        fires=[
            host({"TORCH_NCCL_ASYNC_ERROR_HANDLING": "4"}),
            host({"NCCL_ASYNC_ERROR_HANDLING": "-1"}),
            host({"TORCH_NCCL_COORD_CHECK_MILSEC": "0"}),
        ],
        silent=[
            host(),
            *(host({"TORCH_NCCL_ASYNC_ERROR_HANDLING": text}) for text in ("0", "3", "true")),
            host({"TORCH_NCCL_COORD_CHECK_MILSEC": "1000"}),
        ],
    ),
    of(
        "TRC024",
        fires=[host({"TORCH_NCCL_NONBLOCKING_TIMEOUT": "5"})],
        silent=[host(), *(host({"TORCH_NCCL_NONBLOCKING_TIMEOUT": text}) for text in ("1800", "x"))],
    ),
)
