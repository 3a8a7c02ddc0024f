"""Cases of nccltool/doctor/rules/azure.py."""

from typing import Any

from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import AWS, AZURE, GB200, NO_GPUS, ROCE, file, nvidia, rdma

_ND: dict[str, Any] = {"cloud": AZURE, "rdma": rdma(), "nvidia": nvidia()}
_SET = "NCCL_TOPO_FILE=/opt/microsoft/ndv5/topo.xml\n"

CASES = (
    of(
        "AZ001",
        fires=[host(**_ND), host(**_ND, files_=(file("well-known", "/opt/microsoft/ndv5/topo.xml"),))],
        silent=[
            host(files={"system": _SET}, **_ND),
            host(**{**_ND, "cloud": AWS}),
            host(**{**_ND, "rdma": rdma(1, ROCE)}),
            host(**{**_ND, "nvidia": nvidia(4, GB200)}),
            host(**{**_ND, "nvidia": NO_GPUS}),
        ],
        unknown=[UNREAD, host(), host(cloud=AZURE), host(cloud=AZURE, nvidia=nvidia())],
    ),
)
