"""Cases of nccltool/doctor/rules/p2p.py."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Container, Kernel
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import A100, AWS, L40S, OCI, gpu, named, nvidia, pci, rdma

_X86, _ARM = Kernel(arch="x86_64"), Kernel(arch="aarch64")
_SEVERAL: dict[str, Any] = {"kernel": _X86, "pci": pci(), "nvidia": nvidia(8, L40S)}
_BOOT: dict[str, Any] = {"boot_id": "b1"}


def _old(name: str, nccl: tuple[int, int, int], **facts: Any) -> JudgedHost:
    return host(**{**_BOOT, "names": named(name), "nccl": nccl, **facts})


_CLONE: dict[str, Any] = {**_BOOT, "names": named("node")}
_LINKS_HIDDEN = nvidia(gpus=tuple(gpu(number, nvlinks=Unknown("only NVML reports it")) for number in range(8)))

CASES = (
    of(
        "P2P001",
        fires=[
            host({"NCCL_P2P_DISABLE": "1"}, nvidia=nvidia()),
            host({"NCCL_P2P_DISABLE": "0x1"}),
            host(files={"system": "NCCL_P2P_DISABLE=1x"}, nvidia=_LINKS_HIDDEN),
        ],
        silent=[host(), *(host({"NCCL_P2P_DISABLE": text}) for text in ("0", "2", "true", ""))],
    ),
    of(
        "P2P002",
        fires=[
            *(host({"NCCL_P2P_DISABLE": text}) for text in ("true", "2", "yes", "-1", "99999999999999999999999")),
            host({"NCCL_SHM_DISABLE": "2"}),
        ],
        silent=[host(), host({"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "0"}), host({"NCCL_P2P_DISABLE": ""})],
    ),
    of(
        "P2P003",
        fires=[host({"NCCL_P2P_DISABLE": "1", "NCCL_P2P_LEVEL": "SYS"})],
        silent=[host({"NCCL_P2P_LEVEL": "SYS"}), host({"NCCL_P2P_DISABLE": "0", "NCCL_P2P_LEVEL": "SYS"})],
    ),
    of(
        "P2P004",
        fires=[host({"NCCL_P2P_LEVEL": text}) for text in ("nvl", "NVLINK", "-1", " SYS", "NET")],
        silent=[host(), *(host({"NCCL_P2P_LEVEL": text}) for text in ("NVL", "SYS", "P2C", "0", "7", ""))],
    ),
    of(
        "P2P005",
        fires=[
            *(host({"NCCL_P2P_LEVEL": text}, **_SEVERAL) for text in ("SYS", "PHB", "3", "5")),
            host({"NCCL_P2P_LEVEL": "SYS"}, **{**_SEVERAL, "nvidia": nvidia()}),
        ],
        silent=[
            host(**_SEVERAL),
            host({"NCCL_P2P_LEVEL": "PXB"}, **_SEVERAL),
            host({"NCCL_P2P_LEVEL": "SYS", "NCCL_P2P_DISABLE": "1"}, **_SEVERAL),
            host({"NCCL_P2P_LEVEL": "SYS"}, **{**_SEVERAL, "kernel": _ARM}),
            host({"NCCL_P2P_LEVEL": "SYS"}, **{**_SEVERAL, "nvidia": nvidia(1)}),
        ],
        unknown=[UNREAD, host({"NCCL_P2P_LEVEL": "SYS"}), host({"NCCL_P2P_LEVEL": "SYS"}, kernel=_X86)],
    ),
    of(
        "P2P006",
        fires=[
            host({"NCCL_P2P_LEVEL": "LOC"}, nvidia=nvidia()),
            host({"NCCL_P2P_LEVEL": "0"}, nvidia=nvidia(2, L40S)),
            host({"NCCL_P2P_LEVEL": "PIX"}, nvidia=nvidia(2, L40S)),
            host({"NCCL_P2P_LEVEL": "1"}, nvidia=nvidia(8, A100)),
            host({"NCCL_P2P_LEVEL": "LOC"}),
        ],
        silent=[
            host(nvidia=nvidia()),
            host({"NCCL_P2P_LEVEL": "PXB"}, nvidia=nvidia()),
            host({"NCCL_P2P_LEVEL": "LOC"}, nvidia=nvidia(1)),
        ],
        unknown=[UNREAD, host({"NCCL_P2P_LEVEL": "PIX"}), host({"NCCL_P2P_LEVEL": "PIX"}, nvidia=_LINKS_HIDDEN)],
    ),
    of("P2P013", fires=[host({"NCCL_HOSTID": "a"})], silent=[host()]),
    of(
        "P2P030",
        fires=[(host({"NCCL_HOSTID": "a"}, boot_id="b1"), host({"NCCL_HOSTID": "a"}, boot_id="b2", host="n2"))],
        silent=[
            host(),
            (host({"NCCL_HOSTID": "a"}, boot_id="b1"), host({"NCCL_HOSTID": "a"}, boot_id="b1", host="n2")),
            (host({"NCCL_HOSTID": "a"}, boot_id="b1"), host({"NCCL_HOSTID": "b"}, boot_id="b2", host="n2")),
        ],
        unknown=[
            (UNREAD, UNREAD),
            (host({"NCCL_HOSTID": "a"}), host({"NCCL_HOSTID": "a"}, boot_id="b2", host="n2")),
        ],
    ),
    of(
        "P2P014",
        fires=[
            (
                host(**_CLONE, nvidia=nvidia()),
                host(**_CLONE, nvidia=nvidia(gpus=(gpu(0, uuid="GPU-x"),)), host="n2"),
            ),
            (host(**_CLONE, rdma=rdma(guid="a")), host(**_CLONE, rdma=rdma(guid="b"), host="n2")),
        ],
        silent=[
            (host(**_CLONE, nvidia=nvidia()), host(**_CLONE, nvidia=nvidia())),
            (host(**_CLONE, rdma=rdma()), host(**{**_CLONE, "boot_id": "b2"}, rdma=rdma(guid="b"), host="n2")),
            (
                host(**_CLONE, nvidia=nvidia(gpus=(gpu(0),))),
                host(**_CLONE, nvidia=nvidia(gpus=(gpu(1),)), host="n2"),
            ),
        ],
        unknown=[(host(**_BOOT), host(names=named("node"), host="n2"))],
    ),
    of(
        "P2P035",
        fires=[
            (_old("n60.a", (2, 4, 2)), _old("n60.b", (2, 4, 2))),
            (_old("n60.a", (2, 4, 8)), _old("n60.a", (2, 4, 8), boot_id="b2")),
        ],
        silent=[
            (_old("n60.a", (2, 4, 2)), _old("n61.a", (2, 4, 2))),
            (_old("n60.a", (2, 4, 2)), _old("n60.a", (2, 4, 2))),
            (_old("n60.a", (2, 4, 6)), _old("n60.b", (2, 4, 6))),
            (_old("n60.a", (2, 5, 6)), _old("n60.a", (2, 5, 6), boot_id="b2")),
            (_old("n60.a", (2, 4, 2)), _old("n60.b", (2, 4, 2), container=Container(inside=True))),
            (host(nccl=None), host(nccl=None, host="n2")),
        ],
        unknown=[(host(**_BOOT, nccl=(2, 4, 2)), host(**_BOOT, nccl=(2, 4, 2), host="n2"))],
    ),
    of(
        "P2P015",
        fires=[host({"NCCL_IGNORE_DISABLED_P2P": "1"}), host({"NCCL_IGNORE_DISABLED_P2P": "2"})],
        silent=[host(), host({"NCCL_IGNORE_DISABLED_P2P": "0"})],
    ),
    of(
        "P2P021",
        fires=[host({"NCCL_PXN_DISABLE": "1"}), host({"NCCL_P2P_PXN_LEVEL": "0"}, cloud=AWS)],
        silent=[
            host(),
            host({"NCCL_PXN_DISABLE": "0", "NCCL_P2P_PXN_LEVEL": "2"}),
            host({"NCCL_P2P_PXN_LEVEL": "0", "NCCL_NET": "GPUDirectTCPX_v7"}),
        ],
    ),
    of("P2P022", fires=[host({"NCCL_NVB_DISABLE": "1"})], silent=[host(), host({"NCCL_NVB_DISABLE": "0"})]),
    of(
        "P2P026",
        fires=[host({"NCCL_LEGACY_CUDA_REGISTER": "1"})],
        silent=[host(), host({"NCCL_LEGACY_CUDA_REGISTER": "0"})],
    ),
    of(
        "P2P029",
        fires=[host({"NCCL_CUMEM_ENABLE": "0"}), host({"NCCL_CUMEM_ENABLE": "0"}, nccl=None, cloud=AWS)],
        silent=[
            host(),
            host({"NCCL_CUMEM_ENABLE": "1"}),
            host({"NCCL_CUMEM_ENABLE": "0"}, cloud=OCI),
            host({"NCCL_CUMEM_ENABLE": "0"}, nccl=(2, 18, 6)),
        ],
    ),
    of(
        "P2P031",
        fires=[host({"NCCL_P2P_LEVEL": "NVL"}, nccl=(2, 5, 6))],
        silent=[host(), host({"NCCL_P2P_LEVEL": "NVL"}), host({"NCCL_P2P_LEVEL": "3"}, nccl=(2, 5, 6))],
        unknown=[UNREAD, host({"NCCL_P2P_LEVEL": "NVL"}, nccl=None)],
    ),
)
