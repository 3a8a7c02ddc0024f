"""CoreWeave: the SHARP plugin."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_text


@for_text("CW001", "warning", "NCCL_NET_PLUGIN")
def collnet_without_any_plugin(host: JudgedHost, variable: Variable, plugin: str) -> Results:
    """NCCL_COLLNET_ENABLE=1 is set together with NCCL_NET_PLUGIN=none.

    Why: NCCL_NET_PLUGIN=none disables the plugin that provides CollNet.
    Example: NCCL_COLLNET_ENABLE=1 and NCCL_NET_PLUGIN=none
    Instead: unset NCCL_NET_PLUGIN
    Source: https://github.com/coreweave/nccl-tests
    """
    if plugin.lower() == "none" and host.integer("NCCL_COLLNET_ENABLE") == 1:
        yield report.better_unset(variable, "this disables the plugin that provides CollNet")
