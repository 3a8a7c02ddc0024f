"""Cases of nccltool/doctor/rules/machine/slingshot.py."""

from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import net, nic, plugin
from tests.doctor.rules.parts import gpu, nvidia

_LARGE = {"FI_CXI_RDZV_THRESHOLD": "0", "FI_CXI_RDZV_GET_MIN": "0"}
_GH200 = nvidia(gpus=tuple(gpu(number, name="NVIDIA GH200 120GB") for number in range(4)))
_HSN = net(nic("hsn0", "10.0.0.1/16", driver="cxi_ss1"), nic("hsn1", "10.0.0.2/16", driver="cxi_ss1"))

CASES = (
    of(
        "PLG027",
        fires=[host(network=_HSN, plugins=())],
        silent=[
            host(network=_HSN, plugins=(plugin(),)),
            host(network=_HSN, plugins=(plugin("librccl-net.so"),)),
            host(network=net(nic("eth0", "10.0.0.1/16", driver="ena")), plugins=()),
            host(network=_HSN, plugins=(), nodes=1),
        ],
        unknown=[host(), host(network=_HSN)],
    ),
    of(
        "PLG031",
        fires=[host(network=_HSN, plugins=(plugin(),)), host(network=_HSN, plugins=(plugin("librccl-net.so"),))],
        silent=[
            host({"FI_MR_CACHE_MONITOR": "kdreg2"}, network=_HSN, plugins=(plugin(),)),
            host(network=_HSN, plugins=()),
            host(network=_HSN, plugins=(plugin(),), nodes=1),
            host(network=net(nic("eth0", "10.0.0.1/16", driver="ena")), plugins=(plugin(),)),
        ],
        unknown=[UNREAD, host(), host(network=_HSN)],
    ),
    of(
        "PLG039",
        fires=[
            host(network=_HSN, nvidia=_GH200),
            host(network=_HSN, nvidia=_GH200, plugins=(plugin(),)),
            host({**_LARGE, "FI_CXI_RDZV_GET_MIN": "2049"}, network=_HSN, nvidia=_GH200),
            host({"FI_CXI_RDZV_GET_MIN": "0"}, network=_HSN, nvidia=_GH200),
        ],
        silent=[
            host(_LARGE, network=_HSN, nvidia=_GH200),
            host({"NCCL_NET": "Socket"}, network=_HSN, nvidia=_GH200),
            host(network=_HSN, nvidia=_GH200, plugins=()),
            host(network=_HSN, nvidia=nvidia(4)),
            host(network=_HSN, nvidia=_GH200, nodes=1),
            host(network=net(nic("eth0", "10.0.0.1/16", driver="ena")), nvidia=_GH200),
        ],
        unknown=[UNREAD, host(), host(network=_HSN), host(network=_HSN, nvidia=_GH200, nodes=None)],
    ),
)
