"""What the files of all frameworks begin with."""

from nccltool.core.errors import BadInput
from nccltool.core.text import escaped
from nccltool.plan import wording
from nccltool.plan.result import Plan, PlannedStrategy


def chosen(plan: Plan) -> PlannedStrategy:
    """Raises BadInput where nothing fits."""
    if plan.choice is None:
        raise BadInput("nothing fits, so there is nothing to write", "use more GPUs or a shorter --sequence")
    return plan.choice


def nodes_of(plan: Plan) -> tuple[int, int]:
    """(nodes, GPUs of each). Raises BadInput if the last one would not be full."""
    per_node = min(plan.gpus, plan.machine.gpus)
    nodes, rest = divmod(plan.gpus, per_node)
    if rest:
        raise BadInput(
            f"--gpus {plan.gpus} does not fill nodes of {per_node} GPUs",
            f"use --gpus {nodes * per_node} or {(nodes + 1) * per_node}",
        )
    return nodes, per_node


def comment(plan: Plan) -> str:
    """What the file is for, as comments of a shell, TOML, or YAML."""
    lines = (
        wording.headline(plan).removeprefix("plan: "),
        wording.what(plan),
        wording.batches(plan, chosen(plan)),
    )
    return "".join(f"# {escaped(line)}\n" for line in lines)


def degrees(plan: Plan) -> str:
    """Variables for a script of the user's own, whose options nobody knows."""
    layout = chosen(plan).layout
    values: dict[str, object] = {
        "REPLICATE": layout.replicate,
        "SHARD": layout.shard,
        "TENSOR_PARALLEL": layout.tensor,
        "CONTEXT_PARALLEL": layout.context,
        "PIPELINE_PARALLEL": layout.pipeline,
        "EXPERT_PARALLEL": layout.expert,
        "MICRO_BATCH": layout.micro_batch,
        "MICRO_BATCHES": layout.micro_batches(plan.recipe),
        "RECOMPUTATION": layout.recompute,
    }
    if layout.pipeline > 1:
        values |= {"PIPELINE_SCHEDULE": layout.schedule, "STAGES_PER_RANK": layout.stages}
    return "# for train.py, which must spread the model so\n" + "".join(
        f"export {name}={value}\n" for name, value in values.items()
    )
