"""HPE Slingshot: adapters that NCCL cannot use without a plugin."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, known, listed, rule

_DRIVER = "cxi_ss1"


@rule("PLG027", "warning", covers=(), needs=("network", "plugins"))
def slingshot_without_plugin(host: JudgedHost) -> Results:
    """The host has Slingshot adapters, but the loader finds no network plugin.

    Why: NCCL's own network knows verbs and TCP. Without aws-ofi-nccl, it uses TCP over the adapters, at a fraction
    of their bandwidth.
    Example: hsn0 to hsn3 with the driver cxi_ss1, and no libnccl-net.so
    Instead: put aws-ofi-nccl on LD_LIBRARY_PATH, and set NCCL_NET="AWS Libfabric"
    Source: HPE, NCCL and RCCL tuning guides for Slingshot; https://github.com/HewlettPackard/shs-ccl-docs/pull/26
    """
    rails = [one.name for one in known(host.facts.network.interfaces) if one.driver == _DRIVER]
    if rails and host.several_nodes and not host.net_plugins:
        remedy = "put aws-ofi-nccl on LD_LIBRARY_PATH"
        lines = (f"adapters: {listed(rails)}",)
        message = "NCCL uses TCP over Slingshot: the loader finds no network plugin"
        yield report.host("Slingshot", message, remedy, evidence=lines)
