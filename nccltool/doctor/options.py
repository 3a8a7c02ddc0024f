"""Words of the command line -> what the doctor is to look at, or one sentence of what is wrong with them."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nccltool.core import versions
from nccltool.core.errors import BadInput
from nccltool.core.text import comma_separated
from nccltool.core.versions import Version
from nccltool.launch import launchers
from nccltool.launch.launchers.base import LaunchPlan
from nccltool.launch.options import StartOptions
from nccltool.launch.order import plan_launch


@dataclass(frozen=True, kw_only=True, slots=True)
class DoctorOptions:
    """The options of the command, as they were given; a field has the name of its option."""

    root: str | None = None
    facts: tuple[str, ...] = ()
    env_file: tuple[str, ...] = ()
    pid: int | None = None
    nccl_version: str | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fix: bool = False
    ask_nccl: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class DoctorOrder:
    """What the user wants to be looked at, and how."""

    root: Path = Path("/")
    facts: tuple[Path, ...] = ()
    env_files: tuple[str, ...] = ()
    """In this order; `-` = standard input."""
    without_host: bool = False
    """The settings of files are to be judged, and not the host that this is."""
    pid: int | None = None
    nccl: Version | None = None
    nodes: int | None = None
    local_ranks: int | None = None
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fix: bool = False
    """Lines are wanted that undo what is found."""
    library: str | None = None
    """The libnccl to ask; `auto` = the one that is found; None = it is not asked."""
    where: LaunchPlan | None = None
    """The other hosts to look at; None = this one, or saved facts."""


def order(words: DoctorOptions, start: StartOptions) -> DoctorOrder:
    """The options, checked. Raises BadInput."""
    if words.facts and (words.root or words.pid or words.env_file):
        raise BadInput(
            "--facts cannot be combined with --root, --pid, or --env-file",
            "remove them; a snapshot includes its own environment",
        )
    if words.pid and (words.env_file or words.root):
        raise BadInput("--pid cannot be combined with --env-file or --root", "use only one")
    if words.ask_nccl and (words.facts or words.root or words.pid or words.env_file):
        raise BadInput(
            "--ask-nccl cannot be combined with --facts, --root, --pid, or --env-file",
            "omit one: NCCL can be asked only on this host, in this command's environment",
        )
    if words.env_file.count("-") > 1:
        raise BadInput("--env-file - is given twice: standard input can be read once", "pass it once")
    version = words.nccl_version
    parsed = versions.parse(version) if version is not None else None
    if version is not None and parsed is None:
        raise BadInput(f"--nccl-version {version!r} is not a version", "expected a version like 2.27.7")
    return DoctorOrder(
        root=_tree(words.root),
        facts=tuple(Path(name) for name in words.facts),
        env_files=words.env_file,
        without_host=bool(words.env_file) and not words.root,
        pid=words.pid,
        nccl=parsed,
        nodes=start.nodes,
        local_ranks=_ranks(start.nproc_per_node),
        select=_beginnings("--select", words.select),
        ignore=_beginnings("--ignore", words.ignore),
        fix=words.fix,
        library=_library(words.ask_nccl),
        where=_elsewhere(words, start),
    )


def _elsewhere(words: DoctorOptions, start: StartOptions) -> LaunchPlan | None:
    """Other hosts, when they are named, or when nodes of an allocation are asked for."""
    named = start.hosts or start.hostfile
    reaches_others = start.launcher != "auto" and launchers.get(start.launcher).TRAITS.takes_hosts
    if not (named or reaches_others or (start.nodes or 1) > 1):
        return None
    where = plan_launch(start, os.environ)
    if not where.launch.remote:
        return None
    if any((words.facts, words.root, words.pid, words.env_file, words.ask_nccl)):
        raise BadInput(
            "--facts, --root, --pid, --env-file, and --ask-nccl cannot be combined with other hosts",
            "remove them or --hosts",
        )
    return where


def _library(name: str | None) -> str | None:
    if name not in (None, "auto") and not Path(name or "").is_file():
        raise BadInput(
            f"--ask-nccl {name} is not a file", "pass the path of a libnccl.so.2, or no value to use the one found"
        )
    return name


def _tree(root: str | None) -> Path:
    folder = Path(root or "/")
    if folder.is_dir() and not any(folder.iterdir()):  # nothing was captured: nothing is known
        return folder
    if not any((folder / name).is_dir() for name in ("proc", "sys")):
        raise BadInput(
            f"--root {folder} contains neither proc nor sys",
            "pass the directory that contains the captured proc and sys",
        )
    return folder


def _ranks(text: str | None) -> int | None:
    if text in (None, "auto"):
        return None
    if not (text and text.isascii() and text.isdecimal() and 0 < int(text[:9]) == int(text[:10])):
        raise BadInput(f"--nproc-per-node {text!r} is not a number of ranks", "expected a positive number or auto")
    return int(text)


def _beginnings(option: str, texts: Sequence[str]) -> tuple[str, ...]:
    found = comma_separated(texts)
    if texts and not found:
        raise BadInput(f"{option} names no rule", "pass codes or names of rules or remove the option")
    return found
