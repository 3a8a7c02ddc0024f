"""NCCL's logs (levels, subsystems, files) and its RAS port."""

import re

from nccltool.core.text import escaped
from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, for_number, for_text, for_value, rule
from nccltool.hosts.facts import known, or_none
from nccltool.hosts.nccl import collective_library, values
from nccltool.hosts.nccl.settings import Variable
from nccltool.hosts.nccl.values import LEVELS, LEVELS_OF_RCCL, SUBSYSTEMS

_OWN_FILES = "/tmp/nccl.%h.%p.log"  # noqa: S108 - it is a value, not a file of ours
_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/null", "/dev/tty")
_COSTLY = ("COLL", "CALL", "PROXY", "REG", "TUNING", "ALL")


def _level(host: JudgedHost) -> str | None:
    """The log level as NCCL takes it; None = no logging."""
    word = (host.get("NCCL_DEBUG") or "").upper()
    return word if word in LEVELS else None


@for_text("DBG001", "info", "NCCL_DEBUG")
def trace_left_on(_: JudgedHost, variable: Variable, level: str) -> Results:
    """NCCL_DEBUG is TRACE.

    Why: TRACE slows the job, and its extra lines appear only in a library built with tracing.
    Example: NCCL_DEBUG=TRACE
    Instead: NCCL_DEBUG=WARN
    Source: NCCL user guide, NCCL_DEBUG
    """
    if level.upper() == "TRACE":
        yield report.better_set(variable, "WARN", "NCCL traces every call")


@for_text("DBG002", "info", "NCCL_DEBUG")
def info_on_many_ranks(host: JudgedHost, variable: Variable, level: str) -> Results:
    """NCCL_DEBUG is INFO in a large job whose ranks all write to one output.

    Why: Each rank prints hundreds of lines per communicator.
    Example: NCCL_DEBUG=INFO with 64 ranks or more
    Instead: set NCCL_DEBUG=WARN or NCCL_DEBUG_FILE=/tmp/nccl.%h.%p.log
    Source: NCCL user guide, troubleshooting, logging
    """
    if level.upper() != "INFO" or host.get("NCCL_DEBUG_FILE"):
        return
    ranks = known(host.nodes) * known(host.local_ranks)
    if ranks >= 64:
        message = f"{ranks} ranks print hundreds of lines each to one output"
        yield report.about(variable, message, part="", fix=report.export("NCCL_DEBUG_FILE", _OWN_FILES))


@for_text("DBG003", "warning", "NCCL_DEBUG", needs=collective_library.PARTS)
def unknown_log_level(host: JudgedHost, variable: Variable, level: str) -> Results:
    """NCCL_DEBUG is not a log level that NCCL knows.

    Why: NCCL then logs nothing at all, without a warning. RCCL knows NONE and ERROR as well.
    Example: NCCL_DEBUG=DEBUG
    Instead: NCCL_DEBUG=INFO
    Source: NCCL src/debug.cc; RCCL documentation, environment variables, NCCL_DEBUG
    """
    if level.upper() in LEVELS_OF_RCCL and host.library == "RCCL":
        return
    if level.upper() not in LEVELS:
        word, _, rest = level.strip(" \t\r\"'").upper().partition(" ")
        meant = word if word in LEVELS else "WARN" if word in ("ERROR", "WARNING", "0") else "INFO"
        message = "NCCL does not know this level and logs nothing at all"
        is_clear = "$" not in word and (not rest or rest.lstrip().startswith(("#", ";")))  # a comment
        remedy = "" if is_clear else "set a level that is known"
        fix = report.export(variable.name, meant) if is_clear else ()
        yield report.about(variable, message, remedy, fix, evidence=(f"known: {', '.join(LEVELS)}",))


@rule("DBG004", "info")
def no_log_level(host: JudgedHost) -> Results:
    """NCCL_DEBUG is not set in a multi-node job.

    Why: Without it, NCCL does not print the warnings that explain a failure.
    Example: NCCL_DEBUG is not set
    Instead: NCCL_DEBUG=WARN
    Source: NCCL user guide, troubleshooting
    """
    if host.variable("NCCL_DEBUG") is None and host.several_nodes:
        message = "NCCL_DEBUG is not set: NCCL will not print why something fails"
        yield report.variable("NCCL_DEBUG", message, fix=report.export("NCCL_DEBUG", "WARN"))


@for_text("DBG005", "warning", "NCCL_DEBUG_FILE", needs=("files",))
def shared_log_file(host: JudgedHost, variable: Variable, path: str) -> Results:
    """All processes write to one log file.

    Why: Each process truncates NCCL_DEBUG_FILE when it opens it, so processes overwrite each other's lines. NCCL
    replaces %p with the process id and %h with the host name; use both on a shared file system.
    Example: NCCL_DEBUG_FILE=/shared/nccl.log
    Instead: NCCL_DEBUG_FILE=/shared/nccl.%h.%p.log
    Source: NCCL user guide, NCCL_DEBUG_FILE
    """
    if path in _STREAMS:
        return
    plain = path.replace("%%", "")
    missing = "%p" if "%p" not in plain else ""
    if not missing and "%h" not in plain and host.several_nodes:
        file = host.facts.file("NCCL_DEBUG_FILE")
        missing = "%h" if file is not None and file.is_shared else ""
    if missing:
        better = re.sub(r"(\.\w+)?$", r".%h.%p\1", path.replace("%p", "").rstrip("."), count=1)
        who = "processes" if missing == "%p" else "hosts"
        message = f"NCCL_DEBUG_FILE has no {missing}: {who} overwrite each other's lines"
        yield report.better_set(variable, better, message, f"export NCCL_DEBUG_FILE={escaped(better[:200])}")


@for_text("DBG006", "warning", "NCCL_DEBUG_FILE", needs=("files",))
def log_folder_not_writable(host: JudgedHost, variable: Variable, path: str) -> Results:
    """The directory of NCCL_DEBUG_FILE does not exist or is not writable.

    Why: NCCL does not report that it cannot open the file; the log goes to standard output or is lost.
    Example: NCCL_DEBUG_FILE=/logs/nccl.%h.%p.log when /logs does not exist
    Instead: create the directory on every node
    Source: NCCL src/debug.cc
    """
    file = host.facts.file("NCCL_DEBUG_FILE") if path not in _STREAMS else None
    if file is not None and known(file.parent_writable) is False:
        folder = path.rpartition("/")[0] or "."
        shown = escaped(folder[:120])
        message = f"{shown} does not exist or is not writable"
        yield report.about(variable, message, f"run on every node: mkdir -p {shown}", part=folder)


@for_text("DBG007", "info", "NCCL_DEBUG_FILE")
def log_file_without_level(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_DEBUG_FILE is set, but logging is off.

    Why: NCCL opens the file only at a level above VERSION.
    Example: NCCL_DEBUG_FILE=/tmp/nccl.%h.%p.log without NCCL_DEBUG
    Instead: NCCL_DEBUG=WARN
    Source: NCCL src/debug.cc
    """
    if _level(host) in (None, "VERSION"):
        message = "NCCL_DEBUG_FILE has no effect without a level: NCCL_DEBUG is not WARN, INFO, or TRACE"
        yield report.about(variable, message, part="", fix=report.export("NCCL_DEBUG", "WARN"))


@for_text("DBG008", "info", "NCCL_DEBUG_SUBSYS")
def subsystems_without_info(host: JudgedHost, variable: Variable, _: str) -> Results:
    """NCCL_DEBUG_SUBSYS is set, but the level is not INFO or TRACE.

    Why: NCCL_DEBUG_SUBSYS filters only INFO and TRACE lines.
    Example: NCCL_DEBUG=WARN and NCCL_DEBUG_SUBSYS=NET
    Instead: NCCL_DEBUG=INFO
    Source: NCCL user guide, NCCL_DEBUG_SUBSYS
    """
    if _level(host) not in ("INFO", "TRACE"):
        message = "NCCL_DEBUG_SUBSYS has no effect at this level"
        remedy = "export NCCL_DEBUG=INFO or unset NCCL_DEBUG_SUBSYS"
        lines = (f"NCCL_DEBUG={escaped((host.get('NCCL_DEBUG') or '')[:40])}",)
        fix = report.export("NCCL_DEBUG", "INFO")
        yield report.about(variable, message, remedy, part="", evidence=lines, fix=fix)


@for_text("DBG009", "info", "NCCL_DEBUG_SUBSYS")
def unknown_subsystem(host: JudgedHost, variable: Variable, text: str) -> Results:
    """NCCL_DEBUG_SUBSYS contains a name that is not a subsystem.

    Why: Since 2.30, one wrong name makes NCCL replace the whole list with INIT,BOOTSTRAP,ENV; earlier releases
    dropped only that name. ^ is valid only at the beginning and applies to all names.
    Example: NCCL_DEBUG_SUBSYS=INIT,NETWORK
    Instead: NCCL_DEBUG_SUBSYS=INIT,NET
    Source: NCCL src/debug.cc, src/include/param/parser_bitset.h
    """
    wrong = [word for word in _subsystems(text) if word and word.upper() not in SUBSYSTEMS]
    if wrong:
        version = or_none(host.nccl)
        whole = version is None or version >= (2, 30, 3)
        outcome = "discards the whole list" if whole else "drops it"
        message = f"{wrong[0][:40]!r} is not a subsystem; NCCL {outcome}"
        remedy = "correct the name"
        lines = (f"known: {', '.join(SUBSYSTEMS)}",)
        yield report.about(
            variable,
            message,
            remedy,
            part=wrong[0],
            evidence=lines,
            severity="warning" if version and whole else None,
        )


def _subsystems(text: str) -> list[str]:
    return [word.strip() for word in values.split(text.removeprefix("^"))]


@for_text("DBG010", "info", "NCCL_DEBUG_SUBSYS")
def log_of_each_operation(host: JudgedHost, variable: Variable, text: str) -> Results:
    """The log contains lines for every single operation.

    Why: NCCL prints a line for each operation, which slows the job.
    Example: NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=ALL
    Instead: set NCCL_DEBUG_SUBSYS=INIT,ENV,NET, except for short runs
    Source: NCCL user guide, troubleshooting, logging
    """
    if _level(host) not in ("INFO", "TRACE"):
        return
    named, invert = {word.upper() for word in _subsystems(text)}, text.startswith("^")
    loud = [word for word in _COSTLY if (word in named) != invert] if named else []
    if loud and not (invert and "ALL" in named):
        message = f"NCCL prints lines for every operation ({', '.join(loud)})"
        few = "INIT,ENV,NET"
        remedy = f"export NCCL_DEBUG_SUBSYS={few}, unless the run is short"
        yield report.better_set(variable, few, message, remedy)


@for_value("DBG011", "info", "NCCL_DEBUG_TIMESTAMP_FORMAT")
def own_time_stamps(_: JudgedHost, variable: Variable, __: str) -> Results:
    """NCCL_DEBUG_TIMESTAMP_FORMAT is set.

    Why: Tools that read the log must know the format; NCCL prints underscores as spaces.
    Example: NCCL_DEBUG_TIMESTAMP_FORMAT=%s_
    Instead: unset the variable or store the format with the log
    Source: NCCL user guide, NCCL_DEBUG_TIMESTAMP_FORMAT
    """
    remedy = f"unset {variable.name} or store the format with the log"
    yield report.better_unset(variable, "the log has timestamps in a custom format", remedy, part="")


@rule("DBG012", "info", needs=("network", "container"))
def ras_port_taken(host: JudgedHost) -> Results:
    """Another user's process listens on the port of NCCL's RAS service.

    Why: Only one process can listen on the port, so ncclras shows the other job or nothing.
    Example: two jobs on one host
    Instead: set NCCL_RAS_ADDR=localhost:PORT, with a different port for each job
    Source: NCCL user guide, NCCL_RAS_ADDR
    """
    if host.integer("NCCL_RAS_ENABLE") == 0 or host.get("NCCL_RAS_ADDR"):
        return
    taken = next((one for one in known(host.facts.network.listeners) if one.port == 28028), None)
    if taken and taken.uid != known(host.facts.container.uid):
        message = "another user's process listens on port 28028, which NCCL's RAS service uses"
        lines = (f"{taken.address}:{taken.port}, uid {taken.uid}",)
        fix = report.export("NCCL_RAS_ADDR", "localhost:28029")
        yield report.host("port 28028", message, evidence=lines, fix=fix)


@for_text("DBG013", "warning", "NCCL_RAS_ADDR")
def ras_open_to_all(host: JudgedHost, variable: Variable, address: str) -> Results:
    """NCCL's RAS service listens on an address that other hosts can reach.

    Why: The service has no authentication.
    Example: NCCL_RAS_ADDR=0.0.0.0:28028
    Instead: NCCL_RAS_ADDR=localhost:28028
    Source: NCCL user guide, NCCL_RAS_ADDR
    """
    name = address.rpartition(":")[0].strip("[]").lower()
    local = name in ("", "localhost", "::1") or name.startswith("127.")
    if not local and host.integer("NCCL_RAS_ENABLE") != 0:
        message = "other hosts can reach NCCL's RAS service, which has no authentication"
        yield report.better_set(variable, "localhost:28028", message)


@for_number("DBG014", "info", "NCCL_RAS_ENABLE")
def ras_switched_off(_: JudgedHost, variable: Variable, enabled: int) -> Results:
    """NCCL_RAS_ENABLE=0 disables the RAS service.

    Why: Without the service, ncclras cannot inspect a job that hangs.
    Example: NCCL_RAS_ENABLE=0
    Instead: unset NCCL_RAS_ENABLE
    Source: NCCL user guide, NCCL_RAS_ENABLE
    """
    if not enabled:
        yield report.better_unset(variable, "ncclras cannot inspect a job that hangs", part="")
