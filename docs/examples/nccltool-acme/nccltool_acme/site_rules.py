"""What this site does not want."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_text

NCCLTOOL_PLUGIN = 1


@for_text("SITE001", "warning", "NCCL_DEBUG_FILE")
def debug_file_on_the_file_server(_: JudgedHost, variable: Variable, path: str) -> Results:
    """NCCL_DEBUG_FILE leads to the file server.

    Why: every rank writes there, and it serves all jobs.
    Example: NCCL_DEBUG_FILE=/nfs/nccl.%h.%p
    Instead: NCCL_DEBUG_FILE=/tmp/nccl.%h.%p
    Source: the storage team
    """
    if path.startswith("/nfs/"):
        yield report.better_unset(variable, "it leads to the file server, which all jobs share")
