"""NCCL's configuration files, and mistakes in them that NCCL does not report."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice

from nccltool.core.findings import Severity
from nccltool.core.text import escaped, shortened
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, Unknown, Variable, across, for_text, listed, rule
from nccltool.hosts.facts import known, or_none
from nccltool.hosts.nccl import variables
from nccltool.hosts.nccl.settings import CONF_FILE, ConfLine, ParsedConfFile

_PATHS = (
    *("NCCL_CONF_FILE", "NCCL_DEBUG_FILE", "NCCL_TOPO_FILE", "NCCL_GRAPH_FILE", "NCCL_TOPO_DUMP_FILE"),
    *("NCCL_GRAPH_DUMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_FR_DUMP_TEMP_FILE"),
    "NCCL_TUNER_CONFIG_PATH",
)
_MOST = 20
"""Lines of files of variables that are shown."""
_READ = ("NCCL_CONF_FILE", "NCCL_TOPO_FILE", "NCCL_GRAPH_FILE", "NCCL_TUNER_CONFIG_PATH")
_OF_IMAGES = {
    "azure": ("NCCL_IB_PCI_RELAXED_ORDERING",),
    "gcp": (
        *("NCCL_NET_GDR_LEVEL", "NCCL_P2P_NET_CHUNKSIZE", "NCCL_IB_ADAPTIVE_ROUTING"),
        "NCCL_IB_QPS_PER_CONNECTION",
    ),
}
"""Debugging variables that the images of a cloud put into their files: azhpc-images, Google's gIB."""


def _at(
    file: ParsedConfFile,
    line: ConfLine,
    why: str,
    remedy: str = "",
    fix: tuple[report.LineFix, ...] = (),
    severity: Severity | None = None,
) -> report.RuleFinding:
    lines = (f"{escaped(file.path)}:{line.number}: {escaped(shortened(line.text, 160))}",)
    return report.file(file.path, why, remedy, fix, evidence=lines, severity=severity)


@rule("CNF001", "warning", needs=("conf_files", "root"))
def unreadable_conf_file(host: JudgedHost) -> Results:
    """NCCL_CONF_FILE names a file that does not exist or cannot be read.

    Why: NCCL continues without a message and does not read ~/.nccl.conf either.
    Example: NCCL_CONF_FILE=/opt/site/nccl.conf, which the container does not mount
    Instead: mount the file or unset NCCL_CONF_FILE
    Source: NCCL src/misc/param.cc (initEnvFunc)
    """
    for file in host.settings.read_files():
        if file.role == "NCCL_CONF_FILE" and isinstance(file.lines, Unknown):
            there = [one.exists for one in host.facts.conf_files if one.path == file.path]
            if host.facts.root != "/" and any(isinstance(one, Unknown) for one in there):
                yield file.lines  # a captured tree may just not have it
                continue
            yield _without_text(host, file, file.lines.reason, is_absent=False in there)


def _without_text(host: JudgedHost, file: ParsedConfFile, why: str, is_absent: bool) -> report.RuleFinding:
    path, variable = escaped(file.path), host.variable("NCCL_CONF_FILE")
    lines = (report.pointed(variable),) if variable else ()
    if is_absent:
        message = f"NCCL_CONF_FILE names {path}, which does not exist"
        here = "" if file.path.startswith("/") else "; write an absolute path, which any working directory finds"
        return report.file(
            file.path, message, f"create or mount it, or unset NCCL_CONF_FILE{here}", evidence=lines
        )
    message = f"NCCL_CONF_FILE names {path}, which cannot be read"
    remedy = f"make it a file that the job's user can read; check with ls -l {path}"
    return report.file(file.path, message, remedy, evidence=(*lines, why))


@for_text("CNF002", "warning", *_PATHS)
def tilde_in_path(_: JudgedHost, variable: Variable, path: str) -> Results:
    """A path begins with ~.

    Why: Only a shell expands ~, and only outside quotes. NCCL looks for a directory named ~.
    Example: NCCL_TOPO_FILE="~/topo.xml"
    Instead: NCCL_TOPO_FILE=$HOME/topo.xml
    Source: NCCL user guide, NCCL_CONF_FILE and NCCL_DEBUG_FILE
    """
    if path.startswith("~"):
        message = f"{variable.name} begins with ~, which nothing expands"
        yield report.about(variable, message, "write the absolute path", part="~")


@for_text("CNF012", "warning", *_READ, covers=())
def relative_path(_: JudgedHost, variable: Variable, path: str) -> Results:
    """A file that NCCL reads is named by a relative path.

    Why: NCCL looks for it in the directory in which each rank was started, and continues without it if the file is
    missing. Launchers start ranks of other nodes in another directory.
    Example: NCCL_TOPO_FILE=topo.xml
    Instead: NCCL_TOPO_FILE=/opt/site/topo.xml
    Source: NCCL src/graph/xml.cc, src/misc/param.cc (fopen)
    """
    if not path.startswith(("/", "~", "$")):
        yield report.about(variable, "the file is looked for in each rank's directory", "write the absolute path")


@for_text("CNF003", "info", "NCCL_CONF_FILE", needs=("conf_files",))
def hidden_home_file(host: JudgedHost, _: Variable, path: str) -> Results:
    """NCCL_CONF_FILE hides an existing ~/.nccl.conf.

    Why: NCCL then reads that file and /etc/nccl.conf, but not the file in the home directory.
    Example: NCCL_CONF_FILE=/opt/site/nccl.conf while ~/.nccl.conf exists
    Instead: merge the two files
    Source: NCCL src/misc/param.cc (initEnvFunc)
    """
    for file in host.facts.conf_files:
        if file.role in ("home", "HOME") and known(file.exists):
            message = f"NCCL does not read {escaped(file.path)}: NCCL_CONF_FILE is set"
            evidence = (f"NCCL_CONF_FILE={escaped(path)}",)
            yield report.file(file.path, message, "merge the two files or remove one", evidence=evidence)


@rule("CNF004", "info")
def overridden_line(host: JudgedHost) -> Results:
    """A line in a configuration file has no effect: the variable is set to a different value elsewhere.

    Why: The environment overrides the user's file, which overrides /etc/nccl.conf; within a file, the first line
    wins.
    Example: NCCL_DEBUG=INFO in the environment, and NCCL_DEBUG=WARN in /etc/nccl.conf
    Instead: set the variable in one place
    Source: NCCL src/misc/param.cc (setenv without overwriting)
    """
    for file, line in host.settings.lines():
        if line.fate == "overridden" and line.winner is not None and line.winner.value != line.value:
            where = escaped(f"{line.winner.name}={shortened(line.winner.value, 80)} in {line.winner.origin}")
            why = f"another setting of {escaped(line.name[:60])} overrides this line"
            yield _at(file, line, why, f"delete the line; the effective setting is {where}")
    yield from islice(_overridden_in_files(host), _MOST)


def _overridden_in_files(host: JudgedHost) -> Iterator[report.RuleFinding]:
    """Of files of variables, in which the last line of a name wins."""
    entries, effective = variables.every(), host.settings.variables
    for env_file in host.env_files:
        for line in env_file.lines:
            winner, where = effective.get(line.name), f"{env_file.path}:{line.number}"
            extends = line.place is None or (winner is not None and line.value in winner.value)
            if winner is None or winner.origin == where or winner.value == line.value or extends:
                continue
            if winner.from_file and line.name in entries:
                shown = escaped(f"{line.name}={shortened(line.value, 80)}")
                effect = escaped(f"{line.name}={shortened(winner.value, 80)} in {winner.origin}")
                message = f"another setting of {line.name} overrides this line"
                remedy = f"delete the line; the effective setting is {effect}"
                yield report.file(env_file.path, message, remedy, evidence=(f"{escaped(where)}: {shown}",))


@rule("CNF013", "warning", covers=())
def line_without_export(host: JudgedHost) -> Results:
    """A file that exports some variables assigns another one without `export`.

    Why: Where a script sources the file, only exported variables reach the job. The others have no effect, unless
    the script runs `set -a` first.
    Example: NCCL_IB_HCA=mlx5_0 in a file that also has export NCCL_DEBUG=WARN
    Instead: export NCCL_IB_HCA=mlx5_0
    Source: POSIX.1-2024, Shell Command Language, export
    """
    given, entries = {one.name for one in host.settings.all()}, variables.every()
    for env_file in host.env_files:
        exported = {line.name for line in env_file.lines if line.is_exported}
        rest = {line.name: line for line in env_file.lines if line.name not in exported}
        for line in rest.values():
            if line.name in given and line.name in entries:
                where = f"{escaped(env_file.path)}:{line.number}: {line.name}={escaped(shortened(line.value, 80))}"
                job = "the job" if env_file.form == "script" else "a job whose script sources this file"
                message = f"{line.name} is assigned but not exported: {job} lacks it"
                yield report.variable(line.name, message, f"export {line.name}", evidence=(where,))


_COMMENT = "a comment after the value becomes part of it"
_SLIPS = (
    (re.compile(r"\s+\S"), "the line begins with a space, which becomes part of the name"),
    (re.compile(r"export\s"), "the word export becomes part of the name"),
    (re.compile(r"set\s+\S+="), "the word set becomes part of the name"),
    (re.compile(r"[^=]*\s="), "the space before = becomes part of the name"),
    (re.compile(r"[^=]*=\s+\S"), "the space after = becomes part of the value"),
    (re.compile(r"[^=]*=.*\s#"), _COMMENT),
    (re.compile(r"\ufeff"), "the file begins with a byte order mark, which becomes part of the name"),
)


@rule("CNF005", "warning")
def malformed_line(host: JudgedHost) -> Results:
    """A line in a configuration file is malformed.

    Why: NCCL does not strip spaces or quotes: spaces and `export` become part of the name, and everything after =
    becomes the value. NCCL drops lines without = and truncates names and values to 1023 bytes. It prints no
    message.
    Example: export NCCL_DEBUG = INFO   # for a while
    Instead: NCCL_DEBUG=INFO
    Source: NCCL src/misc/param.cc (setEnvFile)
    """
    for file, line in host.settings.lines():
        why = _slip(line)
        if why:
            text = _repaired(line.text)
            fix = (report.LineFix(path=file.path, number=line.number, text=text),) if text else ()
            remedy = "" if fix else f"{escaped(file.path)}:{line.number}: write only NAME=value"
            # NCCL reads a number up to the space before the comment: what was meant
            harmless = why == _COMMENT and re.match(r"[+-]?[0-9]+\s*#", line.value, re.ASCII)
            yield _at(file, line, why, remedy, fix, "info" if harmless else None)


_MEANT = re.compile(r"\ufeff?\s*(?:export\s+|set\s+)?([A-Za-z_]\w*)\s*=\s*(.*)", re.ASCII)


def _repaired(text: str) -> str:
    """The line as it was meant: NAME=value, without spaces, quotes, `export` or a comment. '' = not clear."""
    meant = _MEANT.fullmatch(text)
    value = re.sub(r"\s+#.*", "", meant[2]).strip() if meant else ""
    for quote in ("'", '"'):
        if len(value) > 1 and value[0] == value[-1] == quote:
            value = value[1:-1].strip()
    is_clear = not re.search(r"[\"'`]|\s\w+=", value)  # a quote that is open, or another assignment
    return f"{meant[1]}={value}" if meant and value and is_clear and f"{meant[1]}={value}" != text else ""


def _slip(line: ConfLine) -> str:
    if line.fate in ("comment", "blank") or line.text.lstrip().startswith("#"):
        return ""
    if line.fate == "ignored":
        return "NCCL drops a line without a name or without ="
    if len(line.text) > 1023 and (len(line.name) >= 1023 or len(line.value) >= 1023):
        return "NCCL truncates names and values to 1023 bytes"
    return next((why for pattern, why in _SLIPS if pattern.match(line.text)), "")


@rule("CNF006", "info", needs=("cloud",))
def debugging_made_permanent(host: JudgedHost) -> Results:
    """A configuration file sets a debugging variable.

    Why: NVIDIA advises against keeping debugging variables in scripts or files: they override NCCL's own choices,
    even in later releases. A forgotten ~/.nccl.conf in a shared home directory affects every job that its user
    runs.
    Example: NCCL_P2P_DISABLE=1 in ~/.nccl.conf
    Instead: set the variable only in the experiment's script
    Source: NCCL user guide, environment variables; https://github.com/NVIDIA/nccl/issues/790
    """
    for file, line in host.settings.lines():
        entry = variables.every().get(line.name)
        if line.fate != "used" or entry is None or not entry.debugging:
            continue
        if line.name not in _OF_IMAGES.get(str(host.facts.cloud.provider), ()):
            why = f"{line.name} is a debugging variable, and this file sets it for every job"
            yield _at(file, line, why, "move it to the experiment's script")


@across("CNF007", "warning", needs=("conf_files",))
def different_conf_files(hosts: Sequence[JudgedHost]) -> Results:
    """A configuration file differs between hosts.

    Why: Per-host files are the usual source of settings that differ between ranks, which cause hangs or mismatched
    algorithms.
    Example: NCCL_IB_HCA in /etc/nccl.conf on only some hosts
    Instead: use the same file on all hosts
    Source: https://github.com/NVIDIA/nccl/issues/626
    """
    for role in ("NCCL_CONF_FILE", "HOME", "home", "system"):
        files = [(host, file) for host in hosts for file in host.facts.conf_files if file.role == role]
        texts = defaultdict[str | None, list[str]](list)
        for host, file in files:
            if isinstance(file.text, Unknown) and file.exists is not False:
                yield Unknown(f"{file.path} of {host.name}: {file.text.reason}")
            else:
                texts[or_none(file.text)].append(host.name)
        if len(texts) > 1:
            path, ordered = files[0][1].path, sorted(texts.items(), key=lambda item: len(item[1]))[:8]
            message = f"{escaped(path)} differs between hosts: {len(texts)} versions"
            lines = tuple(f"{listed(dict.fromkeys(names), 4)}: {_first(text)}" for text, names in ordered)
            yield report.file(path, message, "distribute the same file to all hosts", evidence=lines)


def _first(text: str | None) -> str:
    if text is None:
        return "no such file"
    lines = [line for line in text.splitlines() if line.strip()]
    return f"{len(lines)} lines, first {shortened(lines[0], 60)!r}" if lines else "empty"


@for_text("CNF008", "warning", "NCCL_CONF_FILE")
def conf_file_not_read(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_CONF_FILE is set, but this NCCL version does not read it.

    Why: Releases before 2.23 read ~/.nccl.conf and /etc/nccl.conf only.
    Example: NCCL_CONF_FILE=/opt/site/nccl.conf with NCCL 2.21
    Instead: export the variables or upgrade NCCL
    Source: NCCL user guide, NCCL_CONF_FILE
    """
    if known(host.nccl) < CONF_FILE:
        remedy = "export the variables of the file or use ~/.nccl.conf"
        message = f"NCCL {host.nccl} does not read NCCL_CONF_FILE"
        yield report.file(variable.value, message, remedy, evidence=(report.pointed(variable),))


@rule("CNF009", "info", needs=("plugins",))
def environment_plugin(host: JudgedHost) -> Results:
    """An environment plugin may change the values that NCCL reads.

    Why: The plugin may return different values, which the doctor cannot see.
    Example: NCCL_ENV_PLUGIN=gcp
    Instead: compare with the "set by environment" lines that NCCL logs with NCCL_DEBUG=INFO
    Source: NCCL user guide, NCCL_ENV_PLUGIN
    """
    other = "values other than those shown here"
    compare = "compare with `set by environment` in a log with NCCL_DEBUG=INFO"
    if variable := host.variable("NCCL_ENV_PLUGIN"):
        if variable.value.lower() != "none":
            yield report.about(variable, f"a plugin may supply NCCL with {other}", compare, part="")
        return
    found = next((plugin for plugin in known(host.facts.plugins) if plugin.name == "libnccl-env.so"), None)
    if found and host.nccl_is(since=(2, 28, 7)):
        message = f"NCCL loads libnccl-env.so, which may supply {other}"
        remedy = f"{compare} or export NCCL_ENV_PLUGIN=none"
        fix = report.export("NCCL_ENV_PLUGIN", "none")
        yield report.file(found.library.path, message, remedy, evidence=(escaped(found.library.path),), fix=fix)


@rule("CNF010", "warning")
def not_for_nccl_conf(host: JudgedHost) -> Results:
    """An NCCL configuration file sets a variable of the loader, CUDA, or torch.

    Why: NCCL sets these variables when it initializes, after the loader, CUDA, and torch have read the
    environment.
    Example: LD_LIBRARY_PATH=/opt/plugin in /etc/nccl.conf
    Instead: set the variable in the job's environment
    Source: NCCL src/misc/param.cc (initEnvFunc)
    """
    for file, line in host.settings.lines():
        if re.fullmatch(r"LD_LIBRARY_PATH|LD_PRELOAD|(CUDA|TORCH|PYTORCH|OMP|GLOO)_\w+", line.name):
            yield _at(
                file,
                line,
                f"{line.name} takes effect too late when set in this file",
                "set it in the job's environment",
            )


@rule("CNF011", "warning", covers=(), needs=("conf_files", "env_source"))
def home_not_set(host: JudgedHost) -> Results:
    """HOME is empty or not set, so NCCL does not read the .nccl.conf in the home directory.

    Why: Since 2.30.3, NCCL looks for the file in $HOME, not in the home directory of the password database.
    Containers, cron, and service managers often start jobs without HOME.
    Example: HOME= with ~/.nccl.conf and NCCL 2.30
    Instead: set HOME, or NCCL_CONF_FILE to the path of the file
    Source: NCCL src/misc/param.cc (userHomeDir)
    """
    home = host.get("HOME")
    of_process = (
        host.facts.env_source.startswith(("process", "pid ")) and not host.env_files
    )  # a file of settings seldom has HOME
    if home or (home is None and not of_process) or host.get("NCCL_CONF_FILE"):
        return
    for file in host.facts.conf_files:
        if file.role == "home" and isinstance(file.text, str) and host.nccl_is(since=(2, 30, 3)):
            message = f"NCCL does not read {escaped(file.path)}: HOME is {'not set' if home is None else 'empty'}"
            yield report.file(file.path, message, f"export NCCL_CONF_FILE={file.path}", evidence=("HOME",))
