"""What Oracle Cloud's shapes on RoCE have in common."""

from nccltool.doctor.fabrics.base import Fabric, FabricSetting, gpus, joined, provider, settings
from nccltool.hosts.facts import HostFacts

SOURCE = "oracle-quickstart/oci-hpc-oke, docs/recommended-nccl-rccl-parameters-by-shape.md"


def fabric(title: str, words: tuple[str, ...], adapters: str, *more: tuple[str, str, str]) -> Fabric:
    """A shape: words of its GPUs' names, and the numbers of the adapters `mlx5_N` that GPUs use."""

    def fits(facts: HostFacts) -> str:
        return joined(iter((gpus(facts, *words), "Oracle Cloud"))) if provider(facts) == "oci" else ""

    return Fabric(
        title=f"Oracle Cloud {title}",
        fits=fits,
        settings=(_adapters(adapters), *settings(SOURCE, *_COMMON, *more)),
        advice=("with virtual functions, NCCL_IB_HCA=mlx5", "before NCCL 2.21, also set NCCL_IB_GID_INDEX=3"),
    )


_COMMON = (
    ("NCCL_IB_TC", "41", "the traffic class that the switches do not drop"),
    ("NCCL_IB_TIMEOUT", "22", "adapters retry long enough when a path changes"),
    ("NCCL_SOCKET_IFNAME", "eth0", "the interface between hosts and services"),
    (
        "NCCL_IGNORE_CPU_AFFINITY",
        "1",
        "ranks may use the cores beside their GPU although Slurm bound them elsewhere",
    ),
)


def _adapters(numbers: str) -> FabricSetting:
    names = ",".join(f"mlx5_{number}" for number in numbers.split())
    return FabricSetting(
        name="NCCL_IB_HCA", value=f"={names}", reason="the other adapters belong to the front end", source=SOURCE
    )
