"""nccltool for other programs: a few functions with frozen, typed results.

    from nccltool import api

    run = api.probe(nodes=2, ops=["all_reduce"], sizes=["1MiB"])
    print(run.verdict.status, run.measurements[0].busbw_bytes_per_s)

Nothing here prints or ends the program; all functions raise `api.NccltoolError`, whose `message` and `remedy` are
for people. Importing this loads neither torch nor numpy.
"""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from nccltool.api import arguments
from nccltool.api.arguments import in_words_of
from nccltool.core.errors import BadInput, DidNotComplete, NccltoolError, NotJudged, RunDirError

if TYPE_CHECKING:
    import pandas

    from nccltool.compare.result import Comparison
    from nccltool.doctor.diagnosis import Diagnosis
    from nccltool.history.result import HistoryAnswer
    from nccltool.localize.localized import LocalizedRun
    from nccltool.preflight.result import Preflight
    from nccltool.probe.group_check import GroupCheck
    from nccltool.probe.result import Run
    from nccltool.triage.incident import TriageReport

TextOrPath: TypeAlias = str | os.PathLike[str]

__all__ = [
    "BadInput",
    "DidNotComplete",
    "NccltoolError",
    "NotJudged",
    "RunDirError",
    "check",
    "checked_groups",
    "compare",
    "doctor",
    "history",
    "load_run",
    "localize",
    "pairs",
    "probe",
    "to_pandas",
    "triage",
]


@in_words_of(
    *(
        "ops",
        "sizes",
        "dtype",
        "reduce_op",
        "placement",
        "checks",
        "iterations",
        "nodes",
        "nproc_per_node",
        "hosts",
    ),
    *("launcher", "backend", "timeout_s", "deadline_s", "min_busbw_gb_per_s", "run_dir"),
)
def probe(
    *,
    ops: Sequence[str] = ("all",),
    sizes: Sequence[str | int] | None = None,
    dtype: str = "float32",
    reduce_op: str = "sum",
    placement: Literal["natural", "in-place", "out-of-place", "both"] = "natural",
    checks: int = 1,
    iterations: int | None = None,
    nodes: int | None = None,
    nproc_per_node: int | None = None,
    hosts: str | None = None,
    launcher: str = "auto",
    backend: str = "auto",
    timeout_s: float = 30.0,
    deadline_s: float = 3600.0,
    min_busbw_gb_per_s: float | None = None,
    run_dir: TextOrPath | None = None,
) -> "Run":
    """Measure collectives, as `nccltool probe` does; parameters mean the same as its options.

    The run is also saved in the run directory. A fault is in `findings`. Call it from the main thread.
    """
    from nccltool.api import commands, measuring

    asked = measuring.MeasureOptions(
        ops=arguments.words("ops", ops),
        sizes=None if sizes is None else arguments.words("sizes", sizes),
        dtype=arguments.text("dtype", dtype),
        reduce_op=arguments.text("reduce_op", reduce_op),
        placement=arguments.choice("placement", placement, ("natural", "in-place", "out-of-place", "both")),
        checks=arguments.count("checks", checks, 0),
        iterations=arguments.optional_count("iterations", iterations),
        nodes=arguments.optional_count("nodes", nodes),
        nproc_per_node=arguments.optional_count("nproc_per_node", nproc_per_node),
        hosts=None if hosts is None else ",".join(arguments.texts("hosts", hosts)),
        launcher=arguments.choice("launcher", launcher, ("auto", *measuring.LAUNCHERS)),
        backend=arguments.choice("backend", backend, ("auto", "gloo", "nccl")),
        timeout_s=arguments.number("timeout_s", timeout_s),
        deadline_s=arguments.number("deadline_s", deadline_s),
    )
    least = None if min_busbw_gb_per_s is None else arguments.number("min_busbw_gb_per_s", min_busbw_gb_per_s)
    made = measuring.probe_of(measuring.order(asked), arguments.place("run_dir", run_dir), least)
    return commands.measured(made, "probe", lambda _: None)[0]


@in_words_of("env_files", "facts", "root", "nccl_version", "nodes", "select", "ignore")
def doctor(
    *,
    env_files: Sequence[TextOrPath] = (),
    facts: Sequence[TextOrPath] = (),
    root: TextOrPath | None = None,
    nccl_version: str | None = None,
    nodes: int | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> "Diagnosis":
    """Check NCCL settings against this host, saved facts, or files of variables, as `nccltool doctor` does."""
    from nccltool.api import commands
    from nccltool.doctor.options import DoctorOptions
    from nccltool.launch.options import StartOptions

    words = DoctorOptions(
        root=arguments.optional_text("root", root),
        facts=arguments.texts("facts", facts),
        env_file=arguments.texts("env_files", env_files),
        nccl_version=arguments.optional_text("nccl_version", nccl_version),
        select=arguments.words("select", select),
        ignore=arguments.words("ignore", ignore),
    )
    start = StartOptions(nodes=arguments.optional_count("nodes", nodes))
    return commands.diagnosed(words, start, ("nccltool.api.doctor",))


@in_words_of("word", "since", "history")
def history(word: str = "", *, since: str = "60d", history: TextOrPath | None = None) -> "HistoryAnswer":
    """What earlier runs say, as `nccltool history` does: of all hosts, or of a host, an operation, or a check."""
    from nccltool.api import commands

    return commands.remembered(
        arguments.text("word", word) if word != "" else "",
        arguments.text("since", since),
        arguments.place("history", history),
    )


@in_words_of("paths")
def triage(*paths: TextOrPath) -> "TriageReport":
    """Find the root causes in logs, as `nccltool triage` does: files, folders, or folders of runs."""
    from nccltool.api import commands

    if not paths:
        raise BadInput("triage() needs the path of a log", "name a log or a folder of logs")
    named = [arguments.text("paths", path) for path in paths]
    return commands.triaged(named, False, ("nccltool.api.triage",))


@in_words_of("a", "b", "margin_percent", "alpha", "ignore", "run_dir")
def compare(
    a: TextOrPath,
    b: TextOrPath,
    *,
    margin_percent: float = 3.0,
    alpha: float = 0.025,
    ignore: Sequence[str] = (),
    run_dir: TextOrPath | None = None,
) -> "Comparison":
    """Compare two runs, or a run with `baseline:NAME`, as `nccltool compare` does: is b worse than a?"""
    from nccltool.api import commands

    options = commands.CompareOptions(
        margin=arguments.number("margin_percent", margin_percent, 0.0),
        alpha=arguments.number("alpha", alpha, 0.0001, 0.2),
        keys=arguments.words("ignore", ignore),
        run_dir=arguments.place("run_dir", run_dir),
    )
    return commands.compared(arguments.text("a", a), arguments.text("b", b), options, ("nccltool.api.compare",))


@in_words_of("paths", "expect", "topology", "run_dir")
def localize(
    *paths: TextOrPath,
    expect: str | None = None,
    topology: TextOrPath | None = None,
    run_dir: TextOrPath | None = None,
) -> "LocalizedRun":
    """Name the slow nodes, rails, and links in measurements of pairs, as `nccltool localize` does."""
    from nccltool.api import commands

    options = commands.LocalizeOptions(
        expect=arguments.optional_text("expect", expect),
        topology=arguments.optional_text("topology", topology),
        run_dir=arguments.place("run_dir", run_dir),
    )
    return commands.localized(arguments.texts("paths", paths), options, ("nccltool.api.localize",))


@in_words_of(
    *("op", "size", "pair_time_s", "rounds", "all_pairs", "groups", "within", "expect", "topology"),
    *("nodes", "nproc_per_node", "hosts", "launcher", "backend", "timeout_s", "deadline_s", "run_dir"),
)
def pairs(
    *,
    op: Literal["all_reduce", "send_recv"] = "all_reduce",
    size: str | int | None = None,
    pair_time_s: float = 0.5,
    rounds: int = 12,
    all_pairs: bool = False,
    groups: int = 2,
    within: bool = False,
    expect: str | None = None,
    topology: TextOrPath | None = None,
    nodes: int | None = None,
    nproc_per_node: int | None = None,
    hosts: str | None = None,
    launcher: str = "auto",
    backend: str = "auto",
    timeout_s: float = 30.0,
    deadline_s: float = 3600.0,
    run_dir: TextOrPath | None = None,
) -> "LocalizedRun":
    """Measure pairs of nodes, name what is slow, and save the run, as `nccltool pairs` does; `size` is --bytes."""
    from nccltool.api import commands, measuring

    asked = measuring.PairMeasureOptions(
        op=arguments.choice("op", op, ("all_reduce", "send_recv")),
        size=None if size is None else arguments.one_word("size", size),
        pair_time_s=arguments.number("pair_time_s", pair_time_s),
        rounds=arguments.count("rounds", rounds, 1, 10**4),
        all_pairs=arguments.flag("all_pairs", all_pairs),
        groups=arguments.count("groups", groups, 2, 16),
        within=arguments.flag("within", within),
        expect=arguments.optional_text("expect", expect),
        topology=arguments.optional_text("topology", topology),
        nodes=arguments.optional_count("nodes", nodes),
        nproc_per_node=arguments.optional_count("nproc_per_node", nproc_per_node),
        hosts=None if hosts is None else ",".join(arguments.texts("hosts", hosts)),
        launcher=arguments.choice("launcher", launcher, ("auto", *measuring.LAUNCHERS)),
        backend=arguments.choice("backend", backend, ("auto", "gloo", "nccl")),
        timeout_s=arguments.number("timeout_s", timeout_s),
        deadline_s=arguments.number("deadline_s", deadline_s),
        run_dir=arguments.place("run_dir", run_dir),
    )
    return commands.paired(measuring.pairs_of(asked))


@in_words_of("run", "run_dir")
def load_run(run: TextOrPath, *, run_dir: TextOrPath | None = None) -> "Run | Preflight":
    """A saved run: its id, the start of an id, `latest`, its folder, or a run.json; a TrainRun of `train`."""
    from nccltool.api import commands

    return commands.loaded(arguments.text("run", run), arguments.place("run_dir", run_dir))


def to_pandas(result: "Run | Preflight | Comparison | Diagnosis | TriageReport") -> "pandas.DataFrame":
    """The rows of a result as a data frame: measurements, compared rows, findings, or causes. Needs pandas."""
    from nccltool.api import frames

    return frames.to_pandas(result)


def check(group: Any = None, *, timeout_s: float = 60.0) -> "GroupCheck":
    """Look at a torch.distributed process group before the first step; call it on all ranks of the group.

    Who is there, do the ranks agree on versions and settings, is the data of an all-reduce and an all-gather
    right, and is a rank late? The result is the same on all ranks. A rank that does not come within `timeout_s`
    seconds is in `absent`, and then no collective is called. The group is neither made nor destroyed. None = the
    default group.
    """
    from nccltool.worker.check import check as checked

    return checked(group, arguments.number("timeout_s", timeout_s))


def checked_groups(*, timeout_s: float = 60.0) -> AbstractContextManager[None]:
    """Compare the process groups that ranks create in this block; enter it on all ranks of the default group.

    Each new_group, also of DeviceMesh, is compared before torch carries it out. If a rank creates another group,
    or none within `timeout_s` seconds, all ranks raise DidNotComplete, which names it, instead of hanging.
    """
    from nccltool.worker.group_order import checked_groups as checked

    return checked(arguments.number("timeout_s", timeout_s))
