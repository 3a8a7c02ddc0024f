"""Google Cloud A3 Ultra, A4, and A4X: gIB over RoCE."""

from nccltool.doctor.fabrics.base import Fabric, gpus, joined, provider, settings
from nccltool.hosts.facts import HostFacts


def _fits(facts: HostFacts) -> str:
    if provider(facts) != "gcp":
        return ""
    return joined(iter((gpus(facts, "H200", "B200", "GB200", "GB300"), "Google Cloud")))


FABRIC = Fabric(
    title="Google Cloud A3 Ultra, A4, and A4X (gIB)",
    fits=_fits,
    settings=settings(
        "GoogleCloudPlatform/cluster-toolkit, examples/machine-learning/a3-ultragpu-8g/nccl-tests",
        ("NCCL_NET", "gIB", "a job without the plugin fails instead of falling back to TCP"),
        (
            "NCCL_CONF_FILE",
            "/usr/local/gib/scripts/nccl.conf",
            "traffic class, GID, and tuner of the installed plugin",
        ),
    ),
    advice=("instead of NCCL_CONF_FILE: source /usr/local/gib/scripts/set_nccl_env.sh",),
)
