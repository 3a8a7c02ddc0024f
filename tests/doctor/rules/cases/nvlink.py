"""Cases of nccltool/doctor/rules/nvlink.py."""

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import ProcessFacts, Services
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import (
    A100,
    AWS,
    B200,
    GB200,
    GCP,
    L40S,
    METAL,
    NO_CLOUD,
    NO_GPUS,
    VM,
    file,
    gpu,
    nvidia,
    plugin,
)

_ON, _OFF = {"NCCL_NVLS_ENABLE": "1"}, {"NCCL_NVLS_ENABLE": "0"}
_RACK = nvidia(4, GB200)
_CHANNEL = nvidia(4, GB200, imex_channels=("/dev/nvidia-caps-imex-channels/channel0",))
_DAEMONS = Services(running=("nv-fabricmanager", "nvidia-imex"))
_TREE = "NCCL_NVLSTREE_MAX_CHUNKSIZE"
_COLLNET = {"NCCL_COLLNET_ENABLE": "1"}
_TOPO = {"NCCL_TOPO_FILE": "/tmp/dump.xml"}
_SHARP = plugin("libnccl-net.so", symbols=("ncclNetPlugin_v10", "ncclCollNetPlugin_v10"))


def _fabric(state: str, status: str = "success"):  # type: ignore[no-untyped-def]
    return nvidia(gpus=tuple(gpu(number, fabric_state=state, fabric_status=status) for number in range(8)))


CASES = (
    of(
        "NV001",
        fires=[host(_ON, nvidia=nvidia(8, A100)), host(_ON, nvidia=nvidia(4, L40S))],
        silent=[
            host(nvidia=nvidia(8, A100)),
            host(_ON, nvidia=nvidia()),
            host(_OFF, nvidia=nvidia(8, A100)),
            host(_ON, nvidia=NO_GPUS),
        ],
        unknown=[UNREAD, host(_ON)],
    ),
    of(
        "NV002",
        fires=[
            host(_OFF, nvidia=_RACK, cloud=NO_CLOUD),
            host(_OFF, nvidia=nvidia(), cloud=NO_CLOUD),
            host({**_OFF, "NCCL_PROTO": "Simple"}, nvidia=nvidia(), cloud=GCP),
        ],
        silent=[
            host(nvidia=nvidia()),
            host(_ON, nvidia=nvidia()),
            host(_OFF, nvidia=nvidia(8, A100)),
            host(_OFF, nvidia=nvidia(2)),
        ],
        unknown=[UNREAD, host(_OFF)],
    ),
    of(
        "NV003",
        fires=[host(nvidia=nvidia(), nccl=(2, 29, 2), process=ProcessFacts(communicators=100))],
        silent=[
            host(_OFF),
            host(nvidia=nvidia(), process=ProcessFacts(communicators=20)),
            host(nvidia=nvidia(), nccl=(2, 28, 3), process=ProcessFacts(communicators=100)),
            host(nvidia=nvidia(8, A100), process=ProcessFacts(communicators=100)),
            host(nvidia=NO_GPUS),
        ],
        unknown=[UNREAD, host(nvidia=nvidia()), host(nvidia=nvidia(), nccl=None)],
    ),
    of(
        "NV004",
        fires=[
            host({**_ON, "NCCL_MULTI_RANK_GPU_ENABLE": "1"}),
            host({**_ON, "NCCL_MULTI_RANK_GPU_ENABLE": "1"}, nccl=None),
        ],
        silent=[
            host(_ON),
            host({"NCCL_NVLS_ENABLE": "2", "NCCL_MULTI_RANK_GPU_ENABLE": "1"}),
            host({**_ON, "NCCL_MULTI_RANK_GPU_ENABLE": "1"}, nccl=(2, 28, 9)),
        ],
    ),
    of(
        "NV005",
        fires=[
            host({**_OFF, "NCCL_ALGO": "NVLS"}),
            host({**_OFF, "NCCL_ALGO": "allreduce:NVLS,NVLSTree"}),
            host({"NCCL_ALGO": "NVLSTree"}, nvidia=nvidia(8, A100)),
        ],
        silent=[
            host(_OFF),
            host({**_OFF, "NCCL_ALGO": "NVLS,Ring"}),
            host({"NCCL_ALGO": "NVLS"}, nvidia=nvidia()),
            host({**_OFF, "NCCL_ALGO": "^NVLS"}),
        ],
        unknown=[UNREAD, host({"NCCL_ALGO": "NVLS"})],
    ),
    of(
        "NV006",
        fires=[
            host({_TREE: "524288"}),
            host({_TREE: "524288", "NCCL_NVLS_CHUNKSIZE": "262144"}, cloud=AWS),
            host({_TREE: "524288"}, nvidia=nvidia(8, B200)),
        ],
        silent=[
            host(),
            host({_TREE: "524288"}, cloud=AWS),
            host({_TREE: "131072"}),
            host({_TREE: "524288", "NCCL_NVLS_CHUNKSIZE": "524288"}),
            host({_TREE: "262144"}, nvidia=nvidia(8, B200)),
        ],
    ),
    of(
        "NV007",
        fires=[
            host({"NCCL_MNNVL_ENABLE": "1"}, nvidia=nvidia()),
            host(nvidia=_RACK),
            host({"NCCL_MNNVL_ENABLE": "2"}, nvidia=_RACK),
        ],
        silent=[
            host(nvidia=nvidia()),
            host(nvidia=_CHANNEL),
            host({"NCCL_MNNVL_ENABLE": "0"}, nvidia=_RACK),
            host(nvidia=_RACK, nodes=1),
        ],
        unknown=[
            UNREAD,
            host(nvidia=_RACK, nodes=None),
            host({"NCCL_MNNVL_ENABLE": "1"}, nvidia=nvidia(imex_channels=Unknown("captured"))),
        ],
    ),
    of(
        "NV008",
        fires=[host({"NCCL_MNNVL_ENABLE": "1", "NCCL_CUMEM_ENABLE": "0"})],
        silent=[
            host({"NCCL_MNNVL_ENABLE": "1", "NCCL_CUMEM_ENABLE": "1"}),
            host({"NCCL_CUMEM_ENABLE": "0"}),
            host({"NCCL_MNNVL_ENABLE": "1"}),
        ],
    ),
    of(
        "NV009",
        fires=[
            host({"NCCL_P2P_DISABLE": "1"}, nvidia=_RACK),
            host({"NCCL_P2P_LEVEL": "LOC"}, nvidia=_RACK),
            host({"NCCL_P2P_LEVEL": "0"}, nvidia=_RACK),
        ],
        silent=[
            host(nvidia=_RACK),
            host({"NCCL_P2P_DISABLE": "1"}, nvidia=nvidia()),
            host({"NCCL_P2P_LEVEL": "NVL"}, nvidia=_RACK),
        ],
        unknown=[UNREAD, host({"NCCL_P2P_DISABLE": "1"})],
    ),
    of(
        "NV010",
        fires=[host({"NCCL_MNNVL_ENABLE": "0"}, nvidia=_RACK)],
        silent=[
            host(nvidia=_RACK),
            host({"NCCL_MNNVL_ENABLE": "0"}, nvidia=nvidia()),
            host({"NCCL_MNNVL_ENABLE": "0"}, nvidia=_RACK, nodes=1),
        ],
        unknown=[
            UNREAD,
            host({"NCCL_MNNVL_ENABLE": "0"}),
            host({"NCCL_MNNVL_ENABLE": "0"}, nvidia=_RACK, nodes=None),
        ],
    ),
    of(
        "NV011",
        fires=[host({"NCCL_MNNVL_UUID": "7"}), host({"NCCL_MNNVL_CLIQUE_ID": "0"})],
        silent=[host(), host({"NCCL_MNNVL_UUID": "-1"}), host({"NCCL_MNNVL_CLIQUE_ID": ""})],
    ),
    of(
        "NV012",
        fires=[host(_TOPO, nvidia=_RACK, files_=(file("NCCL_TOPO_FILE", text='<gpu dev="0"/>' * 72),))],
        silent=[
            host(nvidia=_RACK),
            host(_TOPO, nvidia=_RACK, files_=(file("NCCL_TOPO_FILE", text='<gpu dev="0"/>' * 4),)),
            host(_TOPO, nvidia=nvidia(2), files_=(file("NCCL_TOPO_FILE", text="<gpu />" * 8),)),
        ],
        unknown=[UNREAD, host(_TOPO, nvidia=_RACK, files_=(file("NCCL_TOPO_FILE"),))],
    ),
    of(
        "NV013",
        fires=[
            host(nvidia=_fabric("in progress")),
            host(nvidia=_fabric("not started")),
            host(nvidia=_fabric("completed", "insufficient resources")),
            host(nvidia=_fabric("not supported"), cpu=METAL, services=Services(running=("chronyd",))),
            host(nvidia=_RACK, cpu=METAL, services=Services(running=("nv-fabricmanager",))),
        ],
        silent=[
            host(nvidia=nvidia()),
            host(nvidia=nvidia(4, L40S)),
            host(nvidia=_fabric("not supported"), cpu=METAL, services=_DAEMONS),
            host(nvidia=_fabric("not supported"), cpu=VM),
            host(nvidia=_RACK, services=_DAEMONS),
            host(nvidia=_RACK, nodes=1),
            host(nvidia=NO_GPUS),
        ],
        unknown=[
            host(),
            host(nvidia=nvidia(gpus=(gpu(0, nvlinks=Unknown("only NVML reports it")),))),
            host(nvidia=_RACK),
        ],
    ),
    of(
        "NV014",
        fires=[
            host(_COLLNET, plugins=()),
            host(_COLLNET, plugins=(plugin(symbols=("ncclNetPlugin_v10",)),)),
            host(_COLLNET, plugins=(plugin(origin="vendor", symbols=_SHARP.symbols),)),
        ],
        silent=[
            host(plugins=()),
            host(_COLLNET, plugins=(_SHARP,)),
            host({**_COLLNET, "NCCL_NET_PLUGIN": "none"}),
        ],
        unknown=[UNREAD, host(_COLLNET), host(_COLLNET, plugins=(plugin(symbols=Unknown("no ELF")),))],
    ),
    of(
        "NV015",
        fires=[
            host(_COLLNET, nodes=1),
            host({**_COLLNET, "NCCL_COLLNET_NODE_THRESHOLD": "8"}, nodes=4),
        ],
        silent=[host(nodes=1), host(_COLLNET), host({"NCCL_COLLNET_ENABLE": "0"}, nodes=None)],
        unknown=[UNREAD, host(_COLLNET, nodes=None)],
    ),
)
