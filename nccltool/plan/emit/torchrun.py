"""The command that starts the ranks on each node."""

from nccltool.plan.emit import base
from nccltool.plan.result import Plan


def emit(plan: Plan) -> str:
    return base.comment(plan) + base.degrees(plan) + command(plan, "$HEAD_NODE") + "\n"


def command(plan: Plan, head: str) -> str:
    """One line, with backslashes."""
    nodes, per_node = base.nodes_of(plan)
    if nodes == 1:
        return f"torchrun --standalone --nproc-per-node {per_node} train.py"
    return (
        f"torchrun --nnodes {nodes} --nproc-per-node {per_node} \\\n"
        f'    --rdzv-backend c10d --rdzv-endpoint "{head}:29500" --rdzv-id "${{JOB_ID:-1}}" train.py'
    )
