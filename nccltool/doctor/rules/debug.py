"""What NCCL says: levels, subsystems, files, and its RAS port."""

import re

from nccltool.doctor import report
from nccltool.doctor.rules.base import JudgedHost, Results, escaped, known, rule
from nccltool.hosts.facts import or_none
from nccltool.hosts.nccl import values
from nccltool.hosts.nccl.values import LEVELS, SUBSYSTEMS

_SHARED = ("nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "fuse.ceph", "wekafs", "panfs", "9p", "cifs", "smb3")
"""File systems that several hosts have in common."""
_STREAMS = ("/dev/stdout", "/dev/stderr", "/dev/null", "/dev/tty")
_MANY_RANKS = 64
_COSTLY = ("COLL", "CALL", "PROXY", "REG", "TUNING", "ALL")
_RAS_PORT = 28028
_TRIMMED = (2, 30, 3)
"""The release from which a subsystem that is not known discards the whole list."""


def _level(host: JudgedHost) -> str | None:
    """The log level as NCCL takes it; None = no logging."""
    word = (host.get("NCCL_DEBUG") or "").upper()
    return word if word in LEVELS else None


@rule("DBG001", "warning")
def trace_left_on(host: JudgedHost) -> Results:
    """NCCL_DEBUG is TRACE.

    Why: It slows the job, and what it adds needs a library that was built for tracing.
    Example: NCCL_DEBUG=TRACE
    Instead: NCCL_DEBUG=WARN
    Source: NCCL user guide, NCCL_DEBUG
    """
    variable = host.variable("NCCL_DEBUG")
    if variable and _level(host) == "TRACE":
        yield report.about(
            variable, "NCCL traces every call", "export NCCL_DEBUG=WARN", fix=report.export("NCCL_DEBUG", "WARN")
        )


@rule("DBG002", "info")
def info_on_many_ranks(host: JudgedHost) -> Results:
    """NCCL_DEBUG is INFO in a large job, and all ranks write to one output.

    Why: Each rank prints hundreds of lines for each communicator.
    Example: NCCL_DEBUG=INFO with 64 ranks or more
    Instead: NCCL_DEBUG=WARN, or NCCL_DEBUG_FILE=/tmp/nccl.%h.%p.log
    Source: NCCL user guide, troubleshooting, logging
    """
    variable = host.variable("NCCL_DEBUG")
    if variable is None or _level(host) != "INFO" or host.get("NCCL_DEBUG_FILE"):
        return
    ranks = known(host.nodes) * known(host.local_ranks)
    if ranks >= _MANY_RANKS:
        yield report.about(
            variable,
            f"{ranks} ranks print hundreds of lines each to one output",
            "export NCCL_DEBUG_FILE=/tmp/nccl.%h.%p.log",
            fix=report.export("NCCL_DEBUG_FILE", "/tmp/nccl.%h.%p.log"),  # noqa: S108 - it is a value, not a file of ours
            part="",
        )


@rule("DBG003", "error")
def unknown_log_level(host: JudgedHost) -> Results:
    """NCCL_DEBUG is no level that NCCL knows.

    Why: NCCL then logs nothing at all, and does not say so.
    Example: NCCL_DEBUG=DEBUG
    Instead: NCCL_DEBUG=INFO
    Source: NCCL src/debug.cc
    """
    variable = host.variable("NCCL_DEBUG")
    if variable and variable.value and _level(host) is None:
        meant = "WARN" if variable.value.upper() in ("ERROR", "WARNING", "0") else "INFO"
        yield report.about(
            variable,
            "NCCL does not know this level, and logs nothing at all",
            f"export NCCL_DEBUG={meant}",
            evidence=(f"known: {', '.join(LEVELS)}",),
            fix=report.export("NCCL_DEBUG", meant),
        )


@rule("DBG004", "info")
def no_log_level(host: JudgedHost) -> Results:
    """NCCL_DEBUG is not set in a job of several nodes.

    Why: Without it NCCL does not print the warnings that explain a failure.
    Example: no NCCL_DEBUG
    Instead: NCCL_DEBUG=WARN
    Source: NCCL user guide, troubleshooting
    """
    if host.variable("NCCL_DEBUG") is None and host.several_nodes:
        yield report.variable(
            "NCCL_DEBUG",
            "NCCL_DEBUG is not set: NCCL will not say why something fails",
            "export NCCL_DEBUG=WARN",
            fix=report.export("NCCL_DEBUG", "WARN"),
        )


@rule("DBG005", "error", needs=("files",))
def shared_log_file(host: JudgedHost) -> Results:
    """All processes write into one file.

    Why: Each process empties NCCL_DEBUG_FILE when it opens it, and they write over each other. %p stands for the
    process, and %h for the host, which is needed where hosts share the file system.
    Example: NCCL_DEBUG_FILE=/shared/nccl.log
    Instead: NCCL_DEBUG_FILE=/shared/nccl.%h.%p.log
    Source: NCCL user guide, NCCL_DEBUG_FILE
    """
    variable = host.variable("NCCL_DEBUG_FILE")
    if variable is None or not variable.value or variable.value in _STREAMS:
        return
    plain = variable.value.replace("%%", "")
    missing = "%p" if "%p" not in plain else ""
    if not missing and "%h" not in plain and host.several_nodes:
        file = host.facts.file("NCCL_DEBUG_FILE")
        missing = "%h" if file is not None and known(file.fstype) in _SHARED else ""
    if missing:
        better = re.sub(r"(\.\w+)?$", r".%h.%p\1", variable.value.replace("%p", "").rstrip("."), count=1)
        who = "processes" if missing == "%p" else "hosts"
        yield report.about(
            variable,
            f"NCCL_DEBUG_FILE has no {missing}: {who} write over each other",
            f"export NCCL_DEBUG_FILE={escaped(better[:200])}",
            fix=report.export("NCCL_DEBUG_FILE", better),
        )


@rule("DBG006", "error", needs=("files",))
def log_folder_not_writable(host: JudgedHost) -> Results:
    """The folder of NCCL_DEBUG_FILE is not there, or may not be written.

    Why: NCCL does not say that it cannot open the file; the log goes to standard output, or nowhere.
    Example: NCCL_DEBUG_FILE=/logs/nccl.%h.%p.log without a folder /logs
    Instead: make the folder on every node
    Source: NCCL src/debug.cc
    """
    variable = host.variable("NCCL_DEBUG_FILE")
    if variable is None or not variable.value or variable.value in _STREAMS:
        return
    file = host.facts.file("NCCL_DEBUG_FILE")
    if file is not None and known(file.parent_writable) is False:
        folder = variable.value.rpartition("/")[0] or "."
        yield report.about(
            variable,
            f"nothing can be written in {escaped(folder[:120])}",
            f"mkdir -p {escaped(folder[:120])}, on every node",
            part=folder,
        )


@rule("DBG007", "warning")
def log_file_without_level(host: JudgedHost) -> Results:
    """NCCL_DEBUG_FILE is set, and there is nothing to write into it.

    Why: The file is only opened at a level above VERSION.
    Example: NCCL_DEBUG_FILE=/tmp/nccl.%h.%p.log without NCCL_DEBUG
    Instead: NCCL_DEBUG=WARN
    Source: NCCL src/debug.cc
    """
    variable = host.variable("NCCL_DEBUG_FILE")
    if variable and variable.value and _level(host) in (None, "VERSION"):
        yield report.about(
            variable,
            "NCCL_DEBUG_FILE has no effect without a level: NCCL_DEBUG is not WARN, INFO or TRACE",
            "export NCCL_DEBUG=WARN",
            fix=report.export("NCCL_DEBUG", "WARN"),
            part="",
        )


@rule("DBG008", "warning")
def subsystems_without_info(host: JudgedHost) -> Results:
    """NCCL_DEBUG_SUBSYS is set, and the level is not INFO or TRACE.

    Why: It chooses among the lines of these levels only.
    Example: NCCL_DEBUG=WARN and NCCL_DEBUG_SUBSYS=NET
    Instead: NCCL_DEBUG=INFO
    Source: NCCL user guide, NCCL_DEBUG_SUBSYS
    """
    variable = host.variable("NCCL_DEBUG_SUBSYS")
    if variable and variable.value and _level(host) not in ("INFO", "TRACE"):
        yield report.about(
            variable,
            "NCCL_DEBUG_SUBSYS has no effect at this level",
            "export NCCL_DEBUG=INFO, or unset NCCL_DEBUG_SUBSYS",
            evidence=(f"NCCL_DEBUG={escaped((host.get('NCCL_DEBUG') or '')[:40])}",),
            fix=report.export("NCCL_DEBUG", "INFO"),
            part="",
        )


@rule("DBG009", "error")
def unknown_subsystem(host: JudgedHost) -> Results:
    """A word in NCCL_DEBUG_SUBSYS is no subsystem.

    Why: From 2.30 on one wrong word discards the whole list, and INIT,BOOTSTRAP,ENV is used; before, the word
    alone was dropped. ^ stands at the beginning only, and is for all words.
    Example: NCCL_DEBUG_SUBSYS=INIT,NETWORK
    Instead: NCCL_DEBUG_SUBSYS=INIT,NET
    Source: NCCL src/debug.cc, src/include/param/parser_bitset.h
    """
    variable = host.variable("NCCL_DEBUG_SUBSYS")
    if variable is None:
        return
    words = [word.strip() for word in values.split(variable.value.removeprefix("^"))]
    wrong = [word for word in words if word and word.upper() not in SUBSYSTEMS]
    if wrong:
        version = or_none(host.nccl)
        whole = version is None or version >= _TRIMMED
        yield report.about(
            variable,
            f"{escaped(wrong[0][:40])!r} is no subsystem"
            + ("; NCCL discards the whole list" if whole else "; NCCL drops it"),
            "correct the word",
            evidence=(f"known: {', '.join(SUBSYSTEMS)}",),
            severity="error" if whole else "warning",
            part=wrong[0],
        )


@rule("DBG010", "warning")
def log_of_each_operation(host: JudgedHost) -> Results:
    """The log has lines for each single operation.

    Why: They are printed while the job runs, and slow it down.
    Example: NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=ALL
    Instead: NCCL_DEBUG_SUBSYS=INIT,ENV,NET for anything but short runs
    Source: NCCL user guide, troubleshooting, logging
    """
    variable = host.variable("NCCL_DEBUG_SUBSYS")
    if variable is None or _level(host) not in ("INFO", "TRACE"):
        return
    named = {word.strip().upper() for word in values.split(variable.value.removeprefix("^"))}
    invert = variable.value.startswith("^")
    loud = [word for word in _COSTLY if (word in named) != invert] if named else []
    if loud and not (invert and "ALL" in named):
        yield report.about(
            variable,
            f"NCCL prints lines for each operation ({', '.join(loud)})",
            "export NCCL_DEBUG_SUBSYS=INIT,ENV,NET, unless the run is short",
            fix=report.export("NCCL_DEBUG_SUBSYS", "INIT,ENV,NET"),
        )


@rule("DBG011", "info")
def own_time_stamps(host: JudgedHost) -> Results:
    """NCCL_DEBUG_TIMESTAMP_FORMAT is set.

    Why: What reads the log must know the format; underscores are printed as blanks.
    Example: NCCL_DEBUG_TIMESTAMP_FORMAT=%s_
    Instead: the default, or a note of the format beside the log
    Source: NCCL user guide, NCCL_DEBUG_TIMESTAMP_FORMAT
    """
    variable = host.variable("NCCL_DEBUG_TIMESTAMP_FORMAT")
    if variable:
        yield report.better_unset(
            variable,
            "the log has time stamps in a format of its own",
            "unset NCCL_DEBUG_TIMESTAMP_FORMAT, or keep the format with the log",
            part="",
        )


def _ras(host: JudgedHost) -> bool:
    return host.integer("NCCL_RAS_ENABLE") != 0


@rule("DBG012", "info", needs=("network", "container"))
def ras_port_taken(host: JudgedHost) -> Results:
    """Another user's process listens on the port of NCCL's RAS service.

    Why: One process at a time can own the port: ncclras then shows the other job, or nothing.
    Example: two jobs on one host
    Instead: NCCL_RAS_ADDR=localhost:PORT, another one for each job
    Source: NCCL user guide, NCCL_RAS_ADDR
    """
    if not _ras(host) or host.get("NCCL_RAS_ADDR"):
        return
    taken = [one for one in known(host.facts.network.listeners) if one.port == _RAS_PORT]
    if taken and taken[0].uid != known(host.facts.container.uid):
        yield report.host(
            "port 28028",
            "a process of another user listens on port 28028, that of NCCL's RAS service",
            "export NCCL_RAS_ADDR=localhost:28029",
            evidence=(f"{taken[0].address}:{taken[0].port}, uid {taken[0].uid}",),
            fix=report.export("NCCL_RAS_ADDR", "localhost:28029"),
        )


@rule("DBG013", "warning")
def ras_open_to_all(host: JudgedHost) -> Results:
    """NCCL's RAS service listens on an address that other hosts can reach.

    Why: It answers whoever asks: there is no authentication.
    Example: NCCL_RAS_ADDR=0.0.0.0:28028
    Instead: NCCL_RAS_ADDR=localhost:28028
    Source: NCCL user guide, NCCL_RAS_ADDR
    """
    variable = host.variable("NCCL_RAS_ADDR")
    if variable is None or not variable.value or not _ras(host):
        return
    name = variable.value.rpartition(":")[0].strip("[]").lower()
    if name and name != "localhost" and not name.startswith("127.") and name != "::1":
        yield report.about(
            variable,
            "other hosts can reach NCCL's RAS service, which asks nobody who they are",
            "export NCCL_RAS_ADDR=localhost:28028",
            fix=report.export("NCCL_RAS_ADDR", "localhost:28028"),
        )


@rule("DBG014", "info")
def ras_switched_off(host: JudgedHost) -> Results:
    """NCCL_RAS_ENABLE=0 switches the RAS service off.

    Why: ncclras cannot look into a job that hangs.
    Example: NCCL_RAS_ENABLE=0
    Instead: unset NCCL_RAS_ENABLE
    Source: NCCL user guide, NCCL_RAS_ENABLE
    """
    variable = host.variable("NCCL_RAS_ENABLE")
    if variable and not _ras(host):
        yield report.better_unset(variable, "ncclras cannot look into a job that hangs", part="")
