"""Cases of nccltool/doctor/rules/topology.py."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import FileFact
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import AZURE, METAL, NO_CLOUD, VM, file, pci, rdma

_SET = {"NCCL_TOPO_FILE": "/opt/microsoft/ndv5/topo.xml"}
_GRAPH = {"NCCL_GRAPH_FILE": "/opt/microsoft/ncv4/graph.xml"}
_HERE = (
    '<pci busid="0000:03:00.0" class="0x030200"><gpu dev="0"/></pci><pci busid="ffff:ff:01.0" class="0x060400">'
)
_ELSEWHERE = '<pci class="0x020700" busid="0101:00:00.0"/>'
_DEFAULT = "/var/run/nvidia-topologyd/virtualTopology.xml"
_FLAT: dict[str, Any] = {"cpu": VM, "pci": pci(8, flat=True, adapters=8), "rdma": rdma()}
_GONE = file("well-known", _DEFAULT, exists=False)

CASES = (
    of(
        "TOP001",
        fires=[
            host(_SET, files_=(file("NCCL_TOPO_FILE", exists=False, readable=Unknown("does not exist")),)),
            host(_SET, files_=(file("NCCL_TOPO_FILE", readable=False),)),
        ],
        silent=[host(), host(_SET, files_=(file("NCCL_TOPO_FILE"),)), host({"NCCL_TOPO_FILE": ""})],
        unknown=[UNREAD, host(_SET, files_=(file("NCCL_TOPO_FILE", readable=Unknown("captured")),))],
    ),
    of(
        "TOP002",
        fires=[
            host(_SET, files_=(file("NCCL_TOPO_FILE", text=_HERE + _ELSEWHERE),), pci=pci()),
            host(_SET, files_=(file("NCCL_TOPO_FILE", text=_HERE),), pci=pci(0)),
        ],
        silent=[
            host(),
            host(_SET, files_=(file("NCCL_TOPO_FILE", text=_HERE),), pci=pci()),
            host(_SET, files_=(file("NCCL_TOPO_FILE", text="<pci junk" * 1000),)),
            host(_SET, files_=(file("NCCL_TOPO_FILE", exists=False),)),
        ],
        unknown=[
            UNREAD,
            host(_SET, files_=(file("NCCL_TOPO_FILE", text=_HERE),)),
            host(_SET, files_=(file("NCCL_TOPO_FILE", text=Unknown("Permission denied")),)),
        ],
    ),
    of(
        "TOP003",
        fires=[host(**_FLAT), host(**_FLAT, files_=(_GONE,))],
        silent=[
            host(_SET, **_FLAT),
            host(**{**_FLAT, "cpu": METAL}),
            host(**{**_FLAT, "pci": pci(8, adapters=8)}),
            host(**{**_FLAT, "pci": pci(1, flat=True, adapters=1)}),
            host(**{**_FLAT, "rdma": rdma(driver="efa")}),
            host(**_FLAT, files_=(file("well-known", _DEFAULT),)),
        ],
        unknown=[
            UNREAD,
            host(),
            host(cpu=VM),
            host(**_FLAT, files_=(file("well-known", _DEFAULT, exists=Unknown("it took too long")),)),
        ],
    ),
    of(
        "TOP004",
        fires=[
            host({"NCCL_GRAPH_FILE": "/tmp/graph.xml"}, cloud=NO_CLOUD),
            host({"NCCL_GRAPH_FILE": "/opt/microsoft/ncv4/graph.xml"}, cloud=AZURE),
        ],
        silent=[host(), host({"NCCL_GRAPH_FILE": ""})],
    ),
    of(
        "TOP005",
        fires=[host({"NCCL_TOPO_DUMP_FILE": "/tmp/t"}), host({"NCCL_GRAPH_DUMP_FILE": "/tmp/g"})],
        silent=[host(), host({"NCCL_TOPO_DUMP_FILE": ""})],
    ),
    of(
        "TOP006",
        fires=[
            host({"NCCL_GRAPH_FILE": "/opt/microsoft/ncv4/graph.xml"}, local_ranks=2),
            host(
                {"NCCL_GRAPH_FILE": "/tmp/graph.xml"},
                local_ranks=1,
                files_=(
                    FileFact(
                        path="/tmp/graph.xml",
                        asked_by="NCCL_GRAPH_FILE",
                        text='<channel><gpu dev="0"/><gpu dev="1"/></channel><channel><gpu dev="1"/></channel>',
                    ),
                ),
            ),
            host(_GRAPH, local_ranks=None),
        ],
        silent=[
            host(),
            host({"NCCL_GRAPH_FILE": "/opt/microsoft/ncv4/graph.xml"}, local_ranks=4),
            host({"NCCL_GRAPH_FILE": "/tmp/graph.xml"}, local_ranks=None),
        ],
    ),
    of(
        "TOP007",
        fires=[
            host({**_GRAPH, "NCCL_TOPO_FILE": text})
            for text in ("/opt/microsoft/ndv4/topo.xml", "/x/ndv2-topo.xml")
        ],
        silent=[
            host(),
            host(_GRAPH),
            host({**_GRAPH, "NCCL_TOPO_FILE": "/opt/microsoft/ncv4/topo.xml"}),
            host({**_GRAPH, "NCCL_TOPO_FILE": "/tmp/topo.xml"}),
        ],
    ),
)
