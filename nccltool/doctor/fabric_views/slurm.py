"""A TaskProlog of Slurm: what it prints becomes the environment of each task."""

import shlex

from nccltool.doctor.fabric_choice import ChosenFabric
from nccltool.doctor.fabric_views import base


def render(chosen: ChosenFabric) -> str:
    """`echo 'export NAME=VALUE'`, each below its reason. Source: slurm.conf(5), TaskProlog."""
    lines = ["#!/bin/sh", *base.head(chosen)]
    for setting in chosen.fabric.settings:
        lines += [base.comment(setting), f"echo {shlex.quote(f'export {setting.name}={setting.value}')}"]
    return "\n".join(lines) + "\n"
