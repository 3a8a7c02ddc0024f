"""Slurm: what srun passes on to the tasks."""

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Variable, for_text


@for_text("LCH015", "warning", "SLURM_EXPORT_ENV", covers=())
def settings_not_exported(host: JudgedHost, variable: Variable, text: str) -> Results:
    """SLURM_EXPORT_ENV keeps NCCL's settings from the tasks that srun starts.

    Why: With NONE or NIL, srun passes no variable of its environment on, and the tasks run with NCCL's defaults.
    `sbatch --export=NONE` sets it in a job.
    Example: SLURM_EXPORT_ENV=NONE and NCCL_DEBUG=INFO
    Instead: SLURM_EXPORT_ENV=ALL
    Source: Slurm documentation, srun, --export
    """
    inside = host.get("SLURM_STEP_ID") is not None  # what arrived here was passed on
    if text.strip().upper() in ("NONE", "NIL") and not inside and next(host.settings.beginning("NCCL_"), None):
        yield report.better_set(variable, "ALL", "srun passes none of these settings on to its tasks")
