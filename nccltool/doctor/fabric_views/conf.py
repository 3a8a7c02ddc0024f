"""A configuration file of NCCL."""

from nccltool.doctor.fabric_choice import ChosenFabric
from nccltool.doctor.fabric_views import base

_NOT_THERE = "NCCL_CONF_FILE"


def render(chosen: ChosenFabric) -> str:
    """`NAME=VALUE`; what only the environment can set is a comment."""
    lines = [*base.head(chosen)]
    for setting in chosen.fabric.settings:
        lines.append(base.comment(setting))
        line = f"{setting.name}={setting.value}"
        is_read = setting.name.startswith("NCCL_") and setting.name != _NOT_THERE
        lines.append(line if is_read else f"# set in the environment of the job: {line}")
    return "\n".join(lines) + "\n"
