"""What every stage must be: a file of the folder, in its place, its needs below it, honest where it is blind."""

import shlex
from pathlib import Path
from typing import Any

import click
import pytest

import nccltool.preflight.stages
from nccltool.cli.commands.probe import asked
from nccltool.cli.commands.train import asked as asked_of_train
from nccltool.cli.root import cli
from nccltool.launch.job import Job
from nccltool.launch.launchers import base
from nccltool.launch.launchers.base import LaunchPlan, NodeCommands
from nccltool.preflight import suite_reader
from nccltool.preflight.result import Check, CheckOutcome
from nccltool.preflight.stages import NAMES, Stage
from nccltool.preflight.stages.base import StageContext
from nccltool.probe import options as probe_options
from nccltool.train import options as train_options

EVERY = nccltool.preflight.stages.every()
every = pytest.mark.parametrize("stage", EVERY, ids=[stage.name for stage in EVERY])


def context(nodes: int = 2, nproc: int | None = 2, remote: bool = False, **changes: Any) -> StageContext:
    launch = base.worker_here(tuple(range(nodes)), "here")
    if remote:
        launch = NodeCommands(launcher="ssh", why="named", commands=(), remote=True)
    hosts = {node: f"n{node + 1}" if remote else "here" for node in range(nodes)}
    where = LaunchPlan(
        nodes=nodes, nproc=nproc, node_ranks=tuple(range(nodes)), emulated=not remote, leads=True, ranks_seen=0,
        launch=launch, targets=tuple(hosts.values()) if remote else (),
    )  # fmt: skip
    made = StageContext(
        suite=suite_reader.read(suite_reader.find("acceptance")),
        where=where,
        hosts=hosts,
        words=("--timeout", "9"),
        folder=Path("nowhere"),
    )
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def test_rungs_are_the_files_of_the_folder() -> None:
    files = {file.stem for file in Path(nccltool.preflight.stages.__file__).parent.glob("*.py")}
    assert {stage.name for stage in EVERY} == files - {"__init__", "base"}


@every
def test_needs_are_rungs_below(stage: Stage) -> None:
    assert set(stage.needs) <= set(NAMES[: NAMES.index(stage.name)])


@every
@pytest.mark.parametrize("remote", [False, True])
def test_it_says_what_it_would_do_without_doing_it(stage: Stage, remote: bool) -> None:
    there = context(remote=remote)
    part = there.suite.parts.get(stage.name)
    lines = stage.plan(there, part)
    assert lines
    assert all(lines)
    assert stage.about_s(there, part) >= 0
    assert not there.surveyed


@every
def test_what_it_says_has_its_name(stage: Stage) -> None:
    if stage.name in ("inventory", "doctor", "reach", "pairs"):  # the others start ranks
        there = context()
        outcomes = stage.run(there, there.suite.parts.get(stage.name)).outcomes
        assert outcomes
        assert {(one.stage, one.code.partition("/")[0]) for one in outcomes} == {(stage.name, stage.name)}


@pytest.mark.parametrize(
    ("stage", "nodes", "nproc", "reason"),
    [
        ("reach", 2, 2, "the nodes are processes on this host, so there is no network to test"),
        ("within", 2, 1, "with one rank per node, there is no communication within a node"),
        ("across", 1, 2, "with one node, there is no network to test"),
        ("pairs", 3, 2, "the nodes are processes on this host, so there is no network to test"),
    ],
)
def test_what_cannot_be_looked_at_is_skipped(stage: str, nodes: int, nproc: int, reason: str) -> None:
    (run,) = [one.run for one in EVERY if one.name == stage]
    there = context(nodes, nproc)
    assert run(there, there.suite.parts.get(stage)).outcomes == (
        CheckOutcome(check=Check(stage=stage), host=None, status="skip", reason=reason),
    )


def lines(name: str, **changes: Any) -> tuple[str, ...]:
    (stage,) = [one for one in EVERY if one.name == name]
    there = context(remote=True, nodes=3, **changes)
    return stage.plan(there, there.suite.parts[name])


def test_the_lines_are_commands() -> None:
    (across,) = lines("across")
    assert across.startswith("nccltool probe --op all_reduce,all_gather,")
    assert across.endswith("--launcher ssh --hosts n1,n2,n3 --nodes 3 --nproc-per-node 2 --timeout 9")
    within, more = lines("within")
    assert within.endswith("--hosts n1 --nodes 1 --nproc-per-node 2 --timeout 9")
    assert more == "the same on 2 more, 3 at a time"


@pytest.mark.parametrize("name", [file.stem for file in suite_reader.files() if file.parent.name != "platforms"])
def test_the_commands_of_every_suite_are_understood(name: str) -> None:
    there = context(suite=suite_reader.read(suite_reader.find(name)))
    parts = there.suite.parts
    ours = [line for stage in EVERY if stage.name in parts for line in stage.plan(there, parts[stage.name])]
    commands = [shlex.split(line)[1:] for line in ours if line.startswith("nccltool ")]
    assert len(commands) == len({"within", "across", "train"} & set(parts))
    for command, *words in commands:
        above = click.Context(cli, **cli.context_settings)
        options = cli.commands[command].make_context(command, list(words), parent=above).params
        job: Job
        if command == "probe":
            job = probe_options.from_options(asked(options), {}).job
        else:
            job = train_options.from_options(asked_of_train(options), {}).job
        nodes = int(words[words.index("--nodes") + 1])
        assert (job.nodes, job.nproc_per_node) == (nodes, 2)
