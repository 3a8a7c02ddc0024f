"""Cases of nccltool/doctor/rules/algorithms.py."""

from nccltool.hosts.facts import Cloud, Library, Plugin
from tests.doctor.rules.base import UNREAD, host, of

_GCP, _OCI = Cloud(provider="gcp"), Cloud(provider="oci")
_TUNER = Plugin(library=Library(path="/lib/libnccl-tuner.so", origin="system"), name="libnccl-tuner.so")

CASES = (
    of(
        "ALG001",
        fires=[
            *[
                host({"NCCL_ALGO": text})
                for text in ("Rings", "Ring,Trees", "allreduces:Ring", "Ring;Tree", ":", "all:")
            ],
            host({"NCCL_PROTO": "LL256"}),
            host({"NCCL_PROTO": "LL256"}, nccl=None),
            host({"NCCL_ALGO": "Rings"}, nccl=(2, 18, 3)),
        ],
        silent=[
            host(),
            host({"NCCL_ALGO": "ring", "NCCL_PROTO": "^LL128;allreduce:LL128"}),
            host({"NCCL_ALGO": "CollNet"}),
            host({"NCCL_ALGO": ""}),
        ],
    ),
    of(
        "ALG002",
        fires=[
            host({"NCCL_ALGO": "CollNet"}),
            host({"NCCL_ALGO": "ring,collnet"}, nccl=(2, 18, 3)),
            host({"NCCL_ALGO": "CollNet"}, nccl=None),
        ],
        silent=[
            host(),
            host({"NCCL_ALGO": "CollNetDirect"}, nccl=None),
            host({"NCCL_ALGO": "CollNet"}, nccl=(2, 12, 7)),
        ],
    ),
    of(
        "ALG003",
        fires=[host({"NCCL_ALGO": "Ring"}), host({"NCCL_PROTO": "^LL"}), host({"NCCL_ALGO": "Tree"}, cloud=_OCI)],
        silent=[
            host(),
            host({"NCCL_ALGO": "Ring"}, cloud=_OCI),
            host({"NCCL_PROTO": "Simple,LL128"}, cloud=_GCP),
            host({"NCCL_ALGO": "COLLNETCHAIN", "NCCL_COLLNET_ENABLE": "1"}),
        ],
    ),
    of(
        "ALG004",
        fires=[
            host({"NCCL_ALGO": "Tree"}),
            host({"NCCL_ALGO": "Tree"}, nccl=None),
            host({"NCCL_ALGO": "PAT,Tree"}),
            host({"NCCL_ALGO": "NVLS"}),
            host({"NCCL_ALGO": "^Ring"}),
            host({"NCCL_ALGO": "Tree"}, nccl=(2, 21, 5)),
        ],
        silent=[
            host(nccl=None),
            host({"NCCL_ALGO": "allreduce:Tree"}),
            *(host({"NCCL_ALGO": text}) for text in ("allreduce:Rinng", "allreduces:Rinng", "Rings")),  # ALG001
            host({"NCCL_ALGO": "Tree,Ring"}),
            host({"NCCL_ALGO": "Tree,Ring"}, nccl=(2, 21, 5)),
            host({"NCCL_ALGO": "allgather:PAT"}, local_ranks=1),
        ],
        unknown=[
            UNREAD,
            host({"NCCL_ALGO": "allgather:PAT"}, local_ranks=None),
        ],
    ),
    of(
        "ALG005",
        fires=[
            host({"NCCL_PROTO": "LL128"}),
            host({"NCCL_PROTO": "allreduce:LL,LL128"}),
            host({"NCCL_PROTO": "Simple,LL128"}, cloud=_OCI),
        ],
        silent=[
            host(),
            host({"NCCL_PROTO": "^LL128"}),
            host({"NCCL_PROTO": "Simple,LL128"}, cloud=_GCP),
            host({"NCCL_ALGO": "Ring"}),
        ],
    ),
    of(
        "ALG006",
        fires=[host({"NCCL_PROTO": "LL"}), host({"NCCL_PROTO": "^LL128,Simple"})],
        silent=[host(), host({"NCCL_PROTO": "LL,Simple"})],
    ),
    of(
        "ALG007",
        fires=[host({"NCCL_PROTO": "Simple"})],
        silent=[host(), host({"NCCL_PROTO": "Simple"}, cloud=_GCP)],
    ),
    of(
        "ALG008",
        fires=[host({"NCCL_ALGO": "allreduce:Tree"}, nccl=(2, 21, 5))],
        silent=[
            host(nccl=None),
            host({"NCCL_ALGO": "allreduce:Tree"}),
            host({"NCCL_ALGO": "Tree"}, nccl=(2, 21, 5)),
        ],
        unknown=[UNREAD, host({"NCCL_ALGO": "allreduce:Tree"}, nccl=None)],
    ),
    of(
        "ALG009",
        fires=[
            host({"NCCL_ALGO": "Ring", "NCCL_TUNER_PLUGIN": "ofi"}),
            host({"NCCL_PROTO": "LL"}, plugins=(_TUNER,)),
        ],
        silent=[
            host(),
            host({"NCCL_ALGO": "Ring"}, plugins=()),
            host({"NCCL_ALGO": "Ring", "NCCL_TUNER_PLUGIN": "none"}),
        ],
        unknown=[UNREAD, host({"NCCL_ALGO": "Ring"})],
    ),
    of(
        "ALG010",
        fires=[
            host({"NCCL_CTA_POLICY": "EFFICIENCY", "NCCL_PROTO": "Simple"}),
            host({"NCCL_CTA_POLICY": "1", "NCCL_ALGO": "Ring"}),
        ],
        silent=[
            host(),
            host({"NCCL_CTA_POLICY": "EFFICIENCY"}),
            host({"NCCL_CTA_POLICY": "ZERO", "NCCL_ALGO": "Ring"}),
        ],
    ),
)
