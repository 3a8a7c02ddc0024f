"""HPE Slingshot: adapters that NCCL cannot use without a plugin, and what libfabric needs there."""

from nccltool.core.unknown import Unknown
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, known, listed, rule
from nccltool.hosts.facts import or_none

_DRIVER = "cxi_ss1"
_EAGER = ("FI_CXI_RDZV_THRESHOLD", "FI_CXI_RDZV_GET_MIN")


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


@rule("PLG031", "warning", covers=(), needs=("network", "plugins"))
def slingshot_with_memory_hooks(host: JudgedHost) -> Results:
    """NCCL or RCCL uses Slingshot through libfabric, and FI_MR_CACHE_MONITOR is not set.

    Why: By default, libfabric intercepts the functions that map memory, and may deadlock with the GPU runtime:
    jobs hang now and then.
    Example: hsn0 to hsn3 with aws-ofi-nccl, and no FI_MR_CACHE_MONITOR
    Instead: export FI_MR_CACHE_MONITOR=userfaultfd, or kdreg2 where it is installed
    Source: LUMI and OLCF user documentation, RCCL; libfabric documentation, fi_mr(3);
    https://github.com/Lumi-supercomputer/LUMI-AI-Guide/pull/118
    """
    rails = [one.name for one in known(host.facts.network.interfaces) if one.driver == _DRIVER]
    if not rails or not host.several_nodes or host.get("FI_MR_CACHE_MONITOR") is not None:
        return
    if any("-net" in one.name for one in known(host.facts.plugins)):
        fix = report.export("FI_MR_CACHE_MONITOR", "userfaultfd")
        message = "libfabric's default memory monitor may deadlock"
        lines = (f"adapters: {listed(rails)}",)
        yield report.variable("FI_MR_CACHE_MONITOR", message, evidence=lines, fix=fix)


@rule("PLG039", "warning", covers=(), needs=("network", "nvidia", "plugins"))
def eager_messages_of_slingshot(host: JudgedHost) -> Results:
    """FI_CXI_RDZV_THRESHOLD or FI_CXI_RDZV_GET_MIN is not 0 on GH200 hosts with Slingshot.

    Why: NCCL's LL128 messages are then eager. If one arrives before its receive is posted, libfabric copies it
    through host memory with GDRCopy, which is slow and corrupts data on GH200.
    Example: hsn0 to hsn3 on GH200 without FI_CXI_RDZV_THRESHOLD
    Instead: FI_CXI_RDZV_THRESHOLD=0 and FI_CXI_RDZV_GET_MIN=0
    Source: https://github.com/HewlettPackard/shs-ccl-docs/pull/21;
    https://github.com/HewlettPackard/shs-ccl-docs/pull/27
    """
    missing = [name for name in _EAGER if host.get(name) != "0"]
    if not missing or not host.several_nodes or (host.get("NCCL_NET") or "").lower() == "socket":
        return
    plugins = host.facts.plugins
    if not isinstance(plugins, Unknown) and not any("-net" in one.name for one in plugins):
        return  # PLG027 tells more
    rails = [one.name for one in known(host.facts.network.interfaces) if one.driver == _DRIVER]
    if rails and any("GH200" in (or_none(gpu.name) or "") for gpu in host.gpus):
        fix = tuple(fix for name in missing for fix in report.export(name, "0"))
        message = f"{' and '.join(missing)} must be 0: eager messages may be corrupted on GH200"
        yield report.variable(missing[0], message, evidence=(f"adapters: {listed(rails)}",), fix=fix)
