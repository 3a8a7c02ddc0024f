"""Each form of a fabric's settings means the same to what reads it."""

import json
import re
import shlex
import subprocess

import pytest
import yaml

from nccltool.doctor import fabric_choice, fabric_views, fabrics

EVERY = [(form, name) for form in fabric_views.FORMATS for name in fabrics.NAMES]


def read(form: str, text: str) -> dict[str, str]:
    """The variables that a reader of this form gets."""
    if form == "shell":
        return dict(_assigned(line.removeprefix("export ")) for line in text.splitlines() if line[:1] != "#")
    if form == "slurm":
        said = subprocess.run(["sh", "-c", text], capture_output=True, text=True, timeout=20, check=True).stdout
        return dict(line.removeprefix("export ").split("=", 1) for line in said.splitlines())
    if form == "kubernetes":
        return {one["name"]: one["value"] for one in yaml.safe_load(text)["env"]}
    if form == "dockerfile":
        found = re.findall(r'^ENV (\w+)=(".*")$', text, re.MULTILINE)
        return {name: json.loads(value) for name, value in found}
    # NCCL skips lines that begin with #; what it cannot take is such a line
    set_elsewhere = re.findall(r"^# set in the environment of the job: (\w+)=(.*)$", text, re.MULTILINE)
    taken = [line.split("=", 1) for line in text.splitlines() if not line.startswith("#")]
    return {**dict(set_elsewhere), **dict(taken)}


def _assigned(text: str) -> tuple[str, str]:
    (word,) = shlex.split(text)
    name, _, value = word.partition("=")
    return name, value


@pytest.mark.parametrize(("form", "name"), EVERY)
def test_a_reader_gets_the_settings(form: str, name: str) -> None:
    chosen = fabric_choice.ChosenFabric(name=name, fabric=fabrics.get(name))
    text = fabric_views.renderer(form)(chosen)
    assert read(form, text) == {one.name: one.value for one in chosen.fabric.settings}
    assert all(one.source in text and one.reason in text for one in chosen.fabric.settings)


def test_a_configuration_file_has_variables_of_nccl_only() -> None:
    chosen = fabric_choice.ChosenFabric(name="slingshot", fabric=fabrics.get("slingshot"))
    lines = fabric_views.renderer("conf")(chosen).splitlines()
    assert all(line.startswith(("#", "NCCL_")) for line in lines)
    assert any(line.startswith("# set in the environment of the job: FI_") for line in lines)
