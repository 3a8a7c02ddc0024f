"""Cases of nccltool/doctor/rules/process/torch_waits.py."""

from tests.doctor.rules.base import host, of

_DUMP, _BEAT = "TORCH_NCCL_WAIT_TIMEOUT_DUMP_MILSEC", "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC"

CASES = (
    of(
        "TRC022",
        fires=[host({_DUMP: "600000"}), host({_DUMP: "60000", _BEAT: "60"})],
        silent=[host(), host({_DUMP: "15000"}), host({_DUMP: "600000", _BEAT: "900"}), host({_BEAT: "1"})],
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
