"""The screen output of nccl-tests 2.19: what scripts for nccl-tests read.

Each operation is printed as its own program would: preamble, table, footer. What nccl-tests cannot say is in
comment lines that begin with "# nccltool".

**One placement.** A row of nccl-tests has an out-of-place and an in-place half; torch.distributed has one form
of some calls, so one half was not measured. That half repeats the other, #wrong with it, and a comment line says
so; where nccl-tests checks nothing (alltoall and sendrecv in place), #wrong is N/A as there. What readers would
make of anything else decides this:

* by column of the header (the first "busbw", or both halves): an empty column shifts the names; nan or N/A in a
  number makes some drop the row, others fail, and none of them then gates on what was measured;
* from the right end (the next-to-last field): the same, for operations that were measured out of place;
* by a whole number in each #wrong: N/A makes them drop or refuse the row;
* by the line "Avg bus bandwidth": the mean over all printed halves is the mean over the measured ones.

0 in place of the number would be the fingerprint of separate one-rank jobs.

**A run that did not complete** has no footer after its last table, as when nccl-tests is stopped, so that no
reader takes it for a result.
"""

from collections.abc import Iterator

from nccltool.probe import nccl_tests
from nccltool.probe.nccl_tests import PrintedHalf, Table, TableLine, number
from nccltool.probe.result import Run

_HEADER = (
    "#",
    f"# {'':50}           out-of-place                       in-place          ",
    f"#       size         count      type   redop    root{'     time   algbw   busbw  #wrong' * 2} ",
    f"#        (B)    (elements)                          {'     (us)  (GB/s)  (GB/s)        ' * 2} ",
)
"""nccl-tests leaves room for a column of timestamps, of no width."""
_WORDS_OF_READERS = {
    "out-of-place": "out of place",
    "in-place": "in place",
    "bandwidth": "rate",
    "FAILED": "failed",
}
"""By which readers find the header of the table and the footer: notes have other words."""
_ISOLATED = "Blocking Enabled: wait and barrier after each outer iteration (-n); time excludes barrier "


def render(run: Run) -> str:
    """A program's output for each operation, one after the other, with a newline at the end."""
    tables = nccl_tests.tables(run)
    if not tables:
        return "\n".join([_note("measurements", "none"), *_notes(run), *_notes_of_backend(run)]) + "\n"
    blocks = []
    for index, table in enumerate(tables):
        stopped = run.verdict.status == "incomplete" and index == len(tables) - 1
        footer = () if stopped else _footer(table)
        notes = tuple(_notes(run)) if index == 0 else ()
        blocks.append([*_preamble(run, table, notes), *_HEADER, *map(_row, table.lines), *footer])
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


def _preamble(run: Run, table: Table, notes: tuple[str, ...]) -> Iterator[str]:
    info = run.info
    library = nccl_tests.version_number(info.backend_version) if info.backend == "nccl" else None
    yield f"# nccl-tests version {nccl_tests.VERSION} nccl-headers=0 nccl-library={library or 0}"
    yield f"# Collective test starting: {nccl_tests.program(table.op)}"
    yield _parameters(table, int(bool(info.cuda_graph)))
    if table.cadence == "isolated":
        yield f"# {_ISOLATED}"
    yield from notes
    yield from _notes_of_backend(run)
    yield from _notes_of_table(table)
    yield "#"
    yield "# Using devices"
    for rank in range(info.world_size or 0):
        device = rank % nccl_tests.ranks_per_host(run)
        yield (
            f"#  Rank {rank:2d} Group {0:2d} Pid {0:6d} on {nccl_tests.host_of(run, rank):>10} "
            f"device {device:2d} [0000:00:00] {info.gpu or info.backend or 'unknown'}"
        )


def _parameters(table: Table, graph: int) -> str:
    kind, step = nccl_tests.step(table.sizes)
    sizes = f"minBytes {min(table.sizes)} maxBytes {max(table.sizes)} step: {step}({kind})"
    return (
        f"# nThread 1 nGpus 1 {sizes} warmup iters: 0 iters: {table.measured[0].iterations or 0} agg iters: 1 "
        f"validation: {table.validation} graph: {graph} unalign: 0"
    )


def _note(name: str, text: str) -> str:
    for word, other in _WORDS_OF_READERS.items():
        text = text.replace(word, other)
    return f"# nccltool {name}: {' '.join(text.split())}"


def _notes(run: Run) -> Iterator[str]:
    yield _note("version", f"{run.info.nccltool}, run {run.info.id}, {run.verdict.status}")
    yield _note("unknown", "NCCL headers, warm-up iterations, pids, and PCI addresses are unknown and shown as 0")
    for finding in run.findings:
        yield _note(finding.severity, f"{finding.code}: {finding.message}")


def _notes_of_backend(run: Run) -> Iterator[str]:
    info = run.info
    if info.backend:
        version = f"{info.backend_version}, " if info.backend_version else ""
        yield _note("backend", f"{info.backend} {version}{info.backend_reason}")
    if info.emulated:
        yield _note("emulated", "the nodes are processes on one host, so no network between nodes was measured")


def _notes_of_table(table: Table) -> Iterator[str]:
    if table.only:
        yield _note("measured", f"{table.only} only; the other half of each row repeats it")
    counts = [row.iterations or 0 for row in table.measured]
    if len(set(counts)) > 1:
        yield _note("iterations", " ".join(map(str, counts)))


def _row(line: TableLine) -> str:
    row = line.measured[0]
    kind, redop = nccl_tests.type_word(row.dtype), row.reduce_op or "none"
    halves = "".join(map(_half, line.halves))
    return f"{row.bytes:12d}  {row.count:12d}  {kind:>8}  {redop:>6}  {line.root}{halves}"


def _half(half: PrintedHalf) -> str:
    row = half.row
    time = number(row.time_s.seconds * 1e6, 7)
    algbw, busbw = number(row.algbw_bytes_per_s / 1e9, 6), number(row.busbw_bytes_per_s / 1e9, 6)
    wrong = "    N/A" if half.wrong is None else f"  {float(half.wrong):6g}"
    return f"  {time}  {algbw}  {busbw}{wrong}"


def _footer(table: Table) -> Iterator[str]:
    failed = table.failed_checks
    yield f"# {'Out of bounds values':<20} : {failed} {'FAILED' if failed else 'OK'}"
    yield f"# {'Avg bus bandwidth':<20} : {table.mean_busbw:g} "
    yield "#"
    yield f"# Collective test concluded: {nccl_tests.program(table.op)}"
    yield "#"
