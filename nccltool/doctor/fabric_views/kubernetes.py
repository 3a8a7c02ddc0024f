"""The variables of a container of Kubernetes."""

import json

from nccltool.doctor.fabric_choice import ChosenFabric
from nccltool.doctor.fabric_views import base


def render(chosen: ChosenFabric) -> str:
    """`env:` of a container, each variable below its reason."""
    settings = chosen.fabric.settings
    lines = [*base.head(chosen), "env:" if settings else "env: []"]
    for setting in settings:
        lines += [base.comment(setting), f"- name: {setting.name}", f"  value: {json.dumps(setting.value)}"]
    return "\n".join(lines) + "\n"
