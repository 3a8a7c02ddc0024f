"""From what was asked for to a diagnosis: facts of this host or saved ones, rules, the document."""

import gc
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path

import msgspec

from nccltool.core.documents import RunInfo, begun_now
from nccltool.core.errors import BadInput, DidNotComplete
from nccltool.core.findings import Finding
from nccltool.core.run_directory import new_id
from nccltool.core.unknown import Unknown
from nccltool.core.user_files import contents, piped_in
from nccltool.core.verdicts import of_findings
from nccltool.core.versions import Version
from nccltool.doctor import fixes, judge, rules
from nccltool.doctor.diagnosis import Diagnosis
from nccltool.doctor.options import DoctorOrder
from nccltool.doctor.rules import names
from nccltool.doctor.rules.base import JudgedHost, Rule
from nccltool.hosts import differences as hosts_differences
from nccltool.hosts import env_files
from nccltool.hosts import reader as hosts_reader
from nccltool.hosts.aspects import MTU, NCCL, Aspect
from nccltool.hosts.env_files import EnvFile
from nccltool.hosts.facts import HostFacts, SnapshotReader, known, or_none
from nccltool.hosts.nccl import library as nccl_library
from nccltool.hosts.nccl import settings, variables
from nccltool.hosts.sources import files as hosts_files
from nccltool.hosts.sources.base import Tree
from nccltool.hosts.sources.env import chosen as chosen_variables
from nccltool.launch import host_survey
from nccltool.launch.job import Job

_FIRST = 10_000
"""Entries of a captured tree among which there is a file."""
_ASKING = "ASK"
"""Rules that need an answer of NCCL itself."""
_TOLD = 4
"""Hosts that are named in a sentence."""


def diagnose(asked: DoctorOrder, command: tuple[str, ...]) -> Diagnosis:
    """Look, and judge. Raises BadInput."""
    chosen = rules_for(asked.select, asked.ignore, asked.library is not None)
    gc.disable()  # facts are trees: among thousands of them it seeks long, and finds nothing
    try:
        return _diagnosed(asked, command, chosen)
    finally:
        gc.enable()


def _diagnosed(asked: DoctorOrder, command: tuple[str, ...], chosen: tuple[Rule, ...]) -> Diagnosis:
    files = tuple(_env_file(name) for name in asked.env_files)
    snapshots, absent = _looked(asked, files)
    count = len({facts.host for facts in snapshots})
    nodes = len(snapshots) if asked.where is not None else asked.nodes
    hosts = [judge.host_of(facts, asked.nccl, nodes, asked.local_ranks, count, files) for facts in snapshots]
    if asked.library:
        hosts = [replace(host, answer=_answer(host, asked.library)) for host in hosts]
    judgement = judge.judge(hosts, chosen, asked.without_host)
    nothing = asked.without_host and not _says_something(hosts[0], chosen, judgement)
    judgement = judge.nothing_to_check(chosen) if nothing else judgement
    # with --select, rules alone are wanted
    differ = () if asked.select else differences(snapshots, asked.ignore, asked.where is not None)
    findings = (*absent, *judgement.findings, *differ)
    return Diagnosis(
        info=_info(hosts, command),
        verdict=of_findings(findings, can_tell=judgement.is_told and not _is_empty(asked.root)),
        rules=tuple(rule.page for rule in chosen),
        outcomes=judgement.outcomes,
        findings=findings,
        settings=judge.assignments(hosts[0]),
        nccl=str(hosts[0].nccl) if isinstance(hosts[0].nccl, Version) else None,
        fixes=_fixes(judgement, hosts, nothing) if asked.fix else (),
        source=_names(files) if asked.without_host else "",
    )


def _says_something(host: JudgedHost, chosen: Sequence[Rule], judgement: judge.Judgement) -> bool:
    """Whether a rule is about a variable that is set, or found something wrong with one of any name."""
    variables = host.settings.variables
    found = (finding.subject for finding in judgement.findings)
    return any(_is_judged(name, chosen) for name in variables) or any(
        one.kind == "variable" and one.name in variables for one in found
    )


def _is_judged(name: str, chosen: Sequence[Rule]) -> bool:
    """Whether a rule is about a variable."""
    return names.is_judged(name) or (
        name not in names.OF_ANY_PROGRAM and any(name in rule.about for rule in chosen)
    )


def _is_empty(root: Path) -> bool:
    """Whether a captured tree has no file: what rules say of settings alone is no word about a host."""
    return root != Path("/") and not any(path.is_file() for path in islice(root.rglob("*"), _FIRST))


def _fixes(judgement: judge.Judgement, hosts: Sequence[JudgedHost], nothing: bool) -> tuple[str, ...]:
    """Those that do no harm: all rules judge each, also rules that were not asked."""
    if nothing:
        return (f"# {judge.NOTHING}",)
    every = rules_for((), ())
    made = fixes.plan(hosts, judgement.problems, lambda changed: judge.judge(changed, every))
    return tuple(made.lines())


def rules_for(select: Sequence[str], ignore: Sequence[str], asking: bool = False) -> tuple[Rule, ...]:
    """The rules that these words leave; those that ask NCCL itself only where it is asked. Raises BadInput."""
    every = [rule for rule in rules.every() if asking or rule.family != _ASKING]
    # LIM is a family of rules, and the beginning of a difference between hosts too
    of_rules = [w for w in ignore if not _begins_difference(w) or any(judge.begins(rule, w) for rule in every)]
    return judge.chosen(every, select, of_rules)


def _begins_difference(word: str) -> bool:
    return any(code.startswith(word.lower()) for code in hosts_differences.KINDS)


def differences(snapshots: Sequence[HostFacts], ignore: Sequence[str], together: bool) -> tuple[Finding, ...]:
    """What differs between hosts and no rule is about. `together`: looked at in one moment."""
    if len(snapshots) < 2:
        return ()
    entries = variables.every()

    def left_out(aspect: Aspect) -> bool:
        code, what = aspect.code, aspect.what
        ruled = {"env-differs": what in entries, "conf-differs": True, "version-differs": what == NCCL}
        ignored = any(code.startswith(word.lower()) for word in ignore)
        return ignored or ruled.get(code, what == MTU)

    return hosts_differences.compare(snapshots, together, left_out)


def _looked(asked: DoctorOrder, files: Sequence[EnvFile]) -> tuple[list[HostFacts], tuple[Finding, ...]]:
    """Snapshots, and which hosts gave none. Raises DidNotComplete when there is none at all."""
    if asked.where is None:
        return _here(asked, files), ()
    where = asked.where
    job = Job(run_id=new_id(), kind="facts", env=dict(where.env), node_variable=where.node_variable)
    taken = host_survey.take(where.launch, job, where.launch.shown_names())
    if not taken.snapshots:
        raise _nobody(taken.findings)
    return list(taken.snapshots.values()), taken.findings


def _here(asked: DoctorOrder, files: Sequence[EnvFile]) -> list[HostFacts]:
    if asked.facts:
        reader = SnapshotReader()
        return [reader.read(contents(file, "--facts"), str(file)) for file in asked.facts]
    if asked.pid is not None:
        return [_of_process(asked.pid)]
    if files:
        environment = env_files.environment(files)
        if asked.without_host:
            return [HostFacts(host="", root="", env=chosen_variables(environment), env_source=_names(files))]
        return [hosts_reader.take(asked.root, environment, env_source=_names(files), meanwhile=rules.every)]
    return [hosts_reader.take(asked.root, meanwhile=rules.every)]


def _env_file(name: str) -> EnvFile:
    data = piped_in("--env-file") if name == "-" else contents(name, "--env-file")
    return env_files.read(data, env_files.STANDARD_INPUT if name == "-" else name, os.environ)


def _names(files: Sequence[EnvFile]) -> str:
    return ", ".join(file.path for file in files)


def _nobody(findings: Sequence[Finding]) -> DidNotComplete:
    told = [finding.message for finding in findings[:_TOLD]]
    told += [f"and {len(findings) - _TOLD} more"] if len(findings) > _TOLD else []
    return DidNotComplete(f"no host could be checked: {'; '.join(told)}", findings[0].remedy)


def _of_process(pid: int) -> HostFacts:
    """This host with the environment that a process was started with, and the files that it sees."""
    folder = Path("/proc", str(pid))
    if not folder.is_dir():
        raise BadInput(f"--pid {pid}: no such process", "list processes with ps -e")
    try:
        raw = (folder / "environ").read_bytes()
    except ProcessLookupError as error:
        raise BadInput(f"--pid {pid} has exited: its environment is gone", "list processes with ps -e") from error
    except OSError as error:
        return hosts_reader.take(environ={}, env_source=f"none: {folder}/environ cannot be read: {error.strerror}")
    if not raw and _without_memory(folder):
        raise BadInput(
            f"--pid {pid} has exited or is a kernel thread: it has no environment", "list processes with ps -e"
        )
    environment = settings.environment_of_process(raw)
    facts = hosts_reader.take(environ=environment, env_source=f"pid {pid}", meanwhile=rules.every)
    if _namespace(folder) == _namespace(Path("/proc/self")):
        return facts
    # in a container of its own: its configuration files are not ours
    files = hosts_files.conf(Tree.at(folder / "root"), facts.env, hosts_reader.SECONDS)
    return msgspec.structs.replace(facts, conf_files=files)


def _without_memory(folder: Path) -> bool:
    """A process that has ended and waits for its parent, or a thread of the kernel."""
    try:
        (folder / "exe").readlink()
    except OSError as error:  # of one that is not ours, it is PermissionError
        return isinstance(error, FileNotFoundError)
    return False


def _namespace(folder: Path) -> str | None:
    try:
        return str((folder / "ns/mnt").readlink())
    except OSError:
        return None


def _answer(host: JudgedHost, library: str) -> nccl_library.LibraryAnswer | Unknown:
    if host.facts.root != "/" or host.facts.env_source != "process":
        return Unknown("--ask-nccl works only for this process's environment on this host")
    if library != "auto":
        return nccl_library.ask(library, os.environ)
    libraries = host.facts.versions.libnccl
    if isinstance(libraries, Unknown):
        return libraries
    if not libraries:
        return Unknown("no libnccl.so.2 found; pass --ask-nccl PATH")
    return nccl_library.ask(known(libraries)[0].path, os.environ)


def _info(hosts: Sequence[JudgedHost], command: tuple[str, ...]) -> RunInfo:
    first = hosts[0]
    nodes, ranks = or_none(first.nodes), or_none(first.local_ranks)
    return begun_now(
        command,
        torch=or_none(first.facts.versions.torch) or None,
        nodes=nodes,
        world_size=nodes * ranks if nodes and ranks else None,
        hosts=tuple(dict.fromkeys(host.name for host in hosts if host.name)),
    )
