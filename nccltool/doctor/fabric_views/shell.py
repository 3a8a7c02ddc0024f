"""Commands of a shell or a batch script."""

import shlex

from nccltool.doctor.fabric_choice import ChosenFabric
from nccltool.doctor.fabric_views import base


def render(chosen: ChosenFabric) -> str:
    """`export NAME=VALUE`, each below its reason."""
    lines = [*base.head(chosen)]
    for setting in chosen.fabric.settings:
        lines += [base.comment(setting), f"export {setting.name}={shlex.quote(setting.value)}"]
    return "\n".join(lines) + "\n"
