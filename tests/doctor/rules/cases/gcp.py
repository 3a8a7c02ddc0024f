"""Cases of nccltool/doctor/rules/gcp.py."""

from typing import Any

from nccltool.core.unknown import Unknown
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import AWS, GCP, file, interfaces

_LIBRARY = file("well-known", "/var/lib/tcpxo/lib64")
_MEGA: dict[str, Any] = {"cloud": GCP, "network": interfaces("gve", 9), "files_": (_LIBRARY,)}
_USED = {"NCCL_FASTRAK_CTRL_DEV": "eth0", "NCCL_FASTRAK_IFNAME": "eth1,eth2"}
_GIB: dict[str, Any] = {"files_": (file("well-known", "/usr/local/gib"),)}
_NO_GIB: dict[str, Any] = {"files_": (file("well-known", "/usr/local/gib", exists=False),)}
_TUNER = {"NCCL_TUNER_CONFIG_PATH": "/usr/local/gib/configs/tuner_config_a4.txtpb"}

CASES = (
    of(
        "GCP001",
        fires=[host(**_MEGA), host({"NCCL_FASTRAK_CTRL_DEV": "eth0"}, **_MEGA)],
        silent=[
            host(_USED, **_MEGA),
            host(**{**_MEGA, "cloud": AWS}),
            host(**{**_MEGA, "network": interfaces("gve", 5)}),
            host(**{**_MEGA, "files_": ()}),
        ],
        unknown=[UNREAD, host(), host(cloud=GCP)],
    ),
    of(
        "GCP002",
        fires=[
            host({**_USED, "NCCL_BUFFSIZE": "4194304"}),
            host({**_USED, "NCCL_NVLSTREE_MAX_CHUNKSIZE": "262144"}),
        ],
        silent=[
            host({"NCCL_BUFFSIZE": "4194304"}),
            host(_USED),
            host({**_USED, "NCCL_PROTO": "Simple", "NCCL_BUFFSIZE": "8388608", "NCCL_NET_GDR_LEVEL": "PIX"}),
        ],
    ),
    of(
        "GCP003",
        fires=[
            host(**_GIB),
            host({"NCCL_DEBUG": "WARN"}, **_GIB),
            host({"NCCL_NET": "gIB"}, **_GIB),
            host({"NCCL_NET": "Socket", **_TUNER}, **_GIB),
        ],
        silent=[
            host(),
            host(**_NO_GIB),
            host({"NCCL_NET": "gIB", **_TUNER}, **_GIB),
            host({"NCCL_CONF_FILE": "/usr/local/gib/scripts/nccl.conf"}, **_GIB),
            host({"NCCL_ENV_PLUGIN": "gcp"}, **_GIB),
        ],
        unknown=[UNREAD, host(files_=(file("well-known", "/usr/local/gib", exists=Unknown("it took too long")),))],
    ),
)
