"""Instructions of a Dockerfile."""

import json

from nccltool.doctor.fabric_choice import ChosenFabric
from nccltool.doctor.fabric_views import base


def render(chosen: ChosenFabric) -> str:
    """`ENV NAME="VALUE"`, each below its reason."""
    lines = [*base.head(chosen)]
    for setting in chosen.fabric.settings:
        lines += [base.comment(setting), f"ENV {setting.name}={json.dumps(setting.value)}"]
    return "\n".join(lines) + "\n"
