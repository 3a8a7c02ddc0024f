"""Cases of nccltool/doctor/rules/machine/slingshot.py."""

from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.machines import net, nic, plugin

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
)
