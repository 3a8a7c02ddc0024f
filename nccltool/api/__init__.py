"""nccltool for other programs: a few functions with frozen, typed results.

    from nccltool import api

    run = api.probe(nodes=2, ops=["all_reduce"], sizes=["1MiB"])
    print(run.verdict.status, run.measurements[0].busbw_bytes_per_s)

Nothing here prints or ends the program; all functions raise `api.NccltoolError`, whose `message` and `remedy` are
for people. Importing this loads neither torch nor numpy.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from nccltool.core.errors import BadInput, DidNotComplete, NccltoolError, NotJudged, RunDirError

if TYPE_CHECKING:
    import pandas

    from nccltool.compare.result import Comparison
    from nccltool.doctor.diagnosis import Diagnosis
    from nccltool.preflight.result import Preflight
    from nccltool.probe.group_check import GroupCheck
    from nccltool.probe.result import Run
    from nccltool.triage.incident import TriageReport

__all__ = [
    "BadInput",
    "DidNotComplete",
    "NccltoolError",
    "NotJudged",
    "RunDirError",
    "check",
    "compare",
    "doctor",
    "load_run",
    "probe",
    "to_pandas",
    "triage",
]


def probe(
    *,
    ops: Sequence[str] = ("all",),
    sizes: Sequence[str] | None = None,
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
    run_dir: str | None = None,
) -> "Run":
    """Measure collectives, as `nccltool probe` does; parameters mean the same as its options.

    The run is also saved in the run directory. A fault is in `findings`. Call it from the main thread.
    """
    from nccltool.api import commands, measuring

    order = measuring.order(
        measuring.MeasureOptions(
            ops=tuple(ops),
            sizes=None if sizes is None else tuple(sizes),
            dtype=dtype,
            reduce_op=reduce_op,
            placement=placement,
            checks=checks,
            iterations=iterations,
            nodes=nodes,
            nproc_per_node=nproc_per_node,
            hosts=hosts,
            launcher=launcher,
            backend=backend,
            timeout_s=timeout_s,
            deadline_s=deadline_s,
        )
    )
    made = measuring.probe_of(order, run_dir, min_busbw_gb_per_s)
    return commands.measured(made, "probe", lambda _: None)[0]


def doctor(
    *,
    env_files: Sequence[str] = (),
    facts: Sequence[str] = (),
    root: str | None = None,
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
        root=root,
        facts=tuple(facts),
        env_file=tuple(env_files),
        nccl_version=nccl_version,
        select=tuple(select),
        ignore=tuple(ignore),
    )
    return commands.diagnosed(words, StartOptions(nodes=nodes), ("nccltool.api.doctor",))


def triage(*paths: str) -> "TriageReport":
    """Find the root causes in logs, as `nccltool triage` does: files, folders, or folders of runs."""
    from nccltool.api import commands

    if not paths or "" in paths:
        raise BadInput("triage() needs the path of a log", "name a log or a folder of logs")
    return commands.triaged(paths, False, ("nccltool.api.triage",))


def compare(
    a: str,
    b: str,
    *,
    margin_percent: float = 3.0,
    alpha: float = 0.025,
    ignore: Sequence[str] = (),
    run_dir: str | None = None,
) -> "Comparison":
    """Compare two runs, or a run with `baseline:NAME`, as `nccltool compare` does: is b worse than a?"""
    from nccltool.api import commands

    options = commands.CompareOptions(margin=margin_percent, alpha=alpha, keys=tuple(ignore), run_dir=run_dir)
    return commands.compared(a, b, options, ("nccltool.api.compare",))


def load_run(run: str, *, run_dir: str | None = None) -> "Run | Preflight":
    """A saved run: its id, the start of an id, `latest`, its folder, or a run.json; a TrainRun of `train`."""
    from nccltool.api import commands

    return commands.loaded(run, run_dir)


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

    return checked(group, timeout_s)
