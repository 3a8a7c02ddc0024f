"""A batch script of Slurm."""

from nccltool.plan.emit import base, torchrun
from nccltool.plan.result import Plan


def emit(plan: Plan) -> str:
    nodes, per_node = base.nodes_of(plan)
    head = '"$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)"'
    return (
        "#!/usr/bin/env bash\n"
        f"#SBATCH --nodes={nodes}\n"
        "#SBATCH --ntasks-per-node=1\n"
        f"#SBATCH --gpus-per-node={per_node}\n"
        "#SBATCH --exclusive\n"
        f"{base.comment(plan)}"
        f"{base.degrees(plan)}"
        "set -euo pipefail\n"
        f"HEAD_NODE={head}\n"
        "JOB_ID=$SLURM_JOB_ID\n"
        "export HEAD_NODE JOB_ID\n"
        f"srun {torchrun.command(plan, '$HEAD_NODE')}\n"
    )
