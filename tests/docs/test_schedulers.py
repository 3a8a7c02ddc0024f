"""What the docs give to schedulers: scripts, units, manifests; as those want them, and as nccltool reads them."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import click
import pytest
import yaml

from nccltool.cli.root import cli
from tests.docs.pages import ROOT
from tests.interop.manifests import schemas
from tests.support.commands import NCCLTOOL

DOCS = ROOT / "docs"
KUBERNETES = DOCS / "monitoring/kubernetes"
SCRIPTS = [*sorted((DOCS / "slurm").glob("*.sh")), KUBERNETES / "npd-nccltool.sh"]
UNIT = (DOCS / "monitoring/systemd/nccltool-nightly.service").read_text()
NIGHTLY = yaml.safe_load((KUBERNETES / "nightly.yaml").read_text())
script = pytest.mark.parametrize("file", SCRIPTS, ids=[file.name for file in SCRIPTS])


def words_of(name: str) -> list[str]:
    if name == "systemd":
        (line,) = re.findall(r"^ExecStart=/usr/bin/env (.*)$", UNIT, re.MULTILINE)
        return shlex.split(line)
    if name == "scrontab":
        page = (DOCS / "commands/sbatch.md").read_text()
        (line,) = re.findall(r"^\d+ \d+ \* \* \* /opt/nccltool/bin/(nccltool .*)$", page, re.MULTILINE)
        return shlex.split(line)
    if name == "nightly":
        (container,) = NIGHTLY["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        return [*container["command"], *container["args"]]
    _, _, commands = (DOCS / name).read_text().partition("\nexport PATH=")
    (line,) = re.findall(r"^.*\b(nccltool .*)$", commands, re.MULTILINE)
    return shlex.split(line)


@pytest.mark.parametrize(
    "name", ["systemd", "scrontab", "nightly", *(str(file.relative_to(DOCS)) for file in SCRIPTS)]
)
def test_their_words_are_understood(name: str) -> None:
    program, command, *words = words_of(name)
    above = click.Context(cli, **cli.context_settings)
    assert program == "nccltool"
    assert cli.commands[command].make_context(command, words, parent=above).params


def test_the_line_of_scrontab_has_the_directives_of_the_script() -> None:
    page = (DOCS / "commands/sbatch.md").read_text()
    (line,) = re.findall(r"^#SCRON (.*)$", page, re.MULTILINE)
    script = page.partition("preflight --suite nightly --nodes 4\n#!/bin/bash\n")[2].partition("\n\n")[0]
    ours = {each.removeprefix("#SBATCH ") for each in script.splitlines()}
    assert set(line.split()) == {each for each in ours if "partition" not in each and "job-name" not in each}


def test_the_nightly_job_is_valid() -> None:
    assert (NIGHTLY["apiVersion"], NIGHTLY["kind"]) == ("batch/v1", "CronJob")
    assert schemas.problems(NIGHTLY, "kubernetes-1.36.json") == []


@script
def test_scripts_can_be_started(file: Path) -> None:
    assert file.stat().st_mode & 0o111
    assert subprocess.run(["sh", "-n", str(file)], check=False).returncode == 0


@pytest.mark.parametrize(
    ("name", "said", "code"),
    [
        *(("slurm/prolog.sh", said, code) for said, code in ((0, 0), (1, 1), (2, 0), (4, 0), (127, 0))),
        *(("slurm/epilog.sh", said, code) for said, code in ((0, 0), (1, 1), (4, 0))),
        *(("slurm/health-check.sh", said, said) for said in (0, 1, 4)),
        *(("monitoring/kubernetes/npd-nccltool.sh", said, said) for said in (0, 1, 4)),
    ],
)
def test_only_a_failure_of_the_node_is_one(name: str, said: int, code: int, tmp_path: Path) -> None:
    command = tmp_path / "nccltool"
    command.write_text(f"#!/bin/sh\nexit {said}\n")
    command.chmod(0o755)
    done = subprocess.run([DOCS / name], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=False)
    assert done.returncode == code


@pytest.mark.parametrize(
    ("said", "message"),
    [(0, ""), (1, "reason\n"), (4, "reason\nnccltool: this node could not be checked (exit code 4)\n")],
)
def test_the_detector_of_kubernetes_always_gets_the_message_of_now(
    said: int, message: str, tmp_path: Path
) -> None:
    command = tmp_path / "nccltool"
    command.write_text(f"#!/bin/sh\n[ {said} = 0 ] || echo reason\nexit {said}\n")
    command.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run([KUBERNETES / "npd-nccltool.sh"], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (said, message)


@script
def test_the_folder_of_nccltool_needs_no_path_of_the_caller(file: Path, tmp_path: Path) -> None:
    """slurmd gives none, and a PATH that a script does not export is not that of `timeout`."""
    command = tmp_path / "nccltool"
    command.write_text(f"#!/bin/sh\n: > {tmp_path}/called\n")
    copy = tmp_path / file.name
    copy.write_text(file.read_text().replace("/opt/nccltool/bin", str(tmp_path)))
    for each in (command, copy):
        each.chmod(0o755)
    assert subprocess.run([copy], env={}, check=False).returncode == 0
    assert (tmp_path / "called").exists()


def duration(text: str) -> int:
    (number, unit) = re.fullmatch(r"([0-9]+)(s|m)", text).groups()  # type: ignore[union-attr]
    return int(number) * {"s": 1, "m": 60}[unit]


def test_the_detector_of_kubernetes_takes_the_plugin(tmp_path: Path) -> None:
    """What node-problem-detector checks when it reads the file (pkg/custompluginmonitor/types/config.go)."""
    config = json.loads((KUBERNETES / "npd-nccltool.json").read_text())
    known = {"plugin", "pluginConfig", "source", "metricsReporting", "conditions", "rules"}
    settings = config["pluginConfig"]
    (rule,) = config["rules"]
    assert (set(config) <= known, config["plugin"], rule["type"]) == (True, "custom", "permanent")
    assert duration(rule["timeout"]) <= duration(settings["timeout"]) < duration(settings["invoke_interval"])
    assert rule["condition"] in {one["type"] for one in config["conditions"]}
    assert Path(rule["path"]).name == "npd-nccltool.sh"
    command = tmp_path / "nccltool"
    command.write_text(f'#!/bin/sh\nulimit -n 1024\nexec {shlex.join(NCCLTOOL)} "$@"\n')
    command.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run([KUBERNETES / "npd-nccltool.sh"], env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert settings["max_output_length"] > 200  # the longest reason
