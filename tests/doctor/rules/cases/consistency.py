"""Cases of nccltool/doctor/rules/consistency.py."""

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import ProcessFacts
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import rdma


def _job(name: str, *values: str | None) -> tuple[JudgedHost, ...]:
    """Hosts with these values of a variable."""
    return tuple(
        host({name: value} if value is not None else {}, host=f"n{number}") for number, value in enumerate(values)
    )


def _ports(*active: int, **env: str) -> tuple[JudgedHost, ...]:
    return tuple(host(env, rdma=rdma(8, active=one), host=f"n{number}") for number, one in enumerate(active))


_CHANGED = ProcessFacts(changed=("NCCL_ALGO",))

CASES = (
    of(
        "CON001",
        fires=[
            _job("NCCL_ALGO", "Ring", "Tree"),
            _job("NCCL_PROTO", "LL", "LL", "Simple", None),
            (*_job("NCCL_ALGO", "Ring", "Tree"), UNREAD),
        ],
        silent=[
            _job("NCCL_ALGO", "Ring", "Ring"),
            _job("NCCL_ALGO", "Ring", None),
            _job("NCCL_DEBUG", "INFO", "WARN"),
            _job("NCCL_HOSTID", "a", "b"),
        ],
        unknown=[(UNREAD, UNREAD), (*_job("NCCL_ALGO", "Ring"), UNREAD)],
    ),
    of(
        "CON002",
        fires=[
            _job("NCCL_ALGO", "Ring", None),
            _job("NCCL_IB_HCA", "mlx5_0", None, None),
            _job("NCCL_BUFFSIZE", None, "8388608", "8388608"),
        ],
        silent=[
            _job("NCCL_ALGO", "Ring", "Tree"),
            _job("NCCL_DEBUG", "INFO", None),
            _job("NCCL_DEBUG_FILE", "/tmp/f", None),
            _job("NCCL_NO_SUCH_NAME", "1", None),
        ],
        unknown=[(UNREAD, UNREAD)],
    ),
    of(
        "CON003",
        fires=[_ports(8, 7), _ports(8, 8, 0, NCCL_IB_HCA="mlx5"), (*_ports(8, 7), host(host="n9"))],
        silent=[
            _ports(8, 8),
            _ports(7, 7),
            _ports(8, 7, NCCL_IB_HCA="=mlx5_0,mlx5_1"),
            _ports(8, 7, NCCL_IB_DISABLE="1"),
        ],
        unknown=[(host(), host(host="n2"))],
    ),
    of(
        "CON004",
        fires=[host({"NCCL_ALGO": "Ring"}, process=_CHANGED)],
        silent=[
            host(process=_CHANGED),
            host({"NCCL_ALGO": "Ring"}, process=ProcessFacts(changed=())),
            host({"NCCL_ALGO": "Ring", "NCCL_NO_CACHE": "NCCL_ALGO"}, process=_CHANGED),
            host({"NCCL_ALGO": "Ring", "NCCL_NO_CACHE": "ALL"}, process=_CHANGED),
        ],
        unknown=[
            UNREAD,
            host({"NCCL_ALGO": "Ring"}),
            host({"NCCL_ALGO": "Ring"}, process=ProcessFacts(changed=Unknown("only the process itself knows"))),
        ],
    ),
    of(
        "CON005",
        fires=[host({"OMPI_MCA_btl_tcp_if_include": "eth0", "OMPI_MCA_btl_tcp_if_exclude": "lo"})],
        silent=[
            host(),
            host({"OMPI_MCA_btl_tcp_if_include": "eth0"}),
            host({"OMPI_MCA_btl_tcp_if_exclude": "lo"}),
        ],
    ),
    of(
        "CON006",
        fires=[host({"NCCL_CHUNK_SIZE": "16384"})],
        silent=[
            host(),
            host({"NCCL_ALGO": "Ring", "NCCL_NVLS_CHUNKSIZE": "524288", "NCCL_NO_SUCH_NAME": "1"}),
            host({"OFI_NCCL_PROTOCOL": "RDMA", "TORCH_NCCL_BLOCKING_WAIT": "0"}),
        ],
    ),
    of(
        "CON007",
        fires=[
            host({"NCCL_IGNORE_NET_MISMATCH": "1"}),
            host({"NCCL_IGNORE_COLLNET_MISMATCH": "1"}, nodes=None),
        ],
        silent=[host(), host({"NCCL_IGNORE_NET_MISMATCH": "0"}), host({"NCCL_IGNORE_NET_MISMATCH": "1"}, nodes=1)],
    ),
)
