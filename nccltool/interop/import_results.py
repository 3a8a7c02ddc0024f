"""From files of other tools to runs: read, check, judge, keep."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from nccltool.core import statistics, user_files, verdicts
from nccltool.core.documents import begun_now
from nccltool.core.findings import Finding, Subject
from nccltool.core.statistics import Stats
from nccltool.core.unknown_names import unknown
from nccltool.core.verdicts import Verdict, of_findings
from nccltool.interop import importers
from nccltool.interop.finding_kinds import IMPORTED
from nccltool.interop.importers import Half, Report, Row, Told, checks
from nccltool.launch.job import run_dir
from nccltool.probe import collectives, document, latency_model, nccl_tests
from nccltool.probe.job import ProbeJob, Sizes
from nccltool.probe.result import Measurement, Run

STANDARD_INPUT = "-"
_WORLD = attrgetter("world_size", "hosts", "backend", "backend_version", "emulated", "series")


@dataclass(frozen=True, slots=True)
class Imported:
    """A run, and the text that it was made of."""

    run: Run
    source: bytes


def told(op: str | None, ranks: int | None) -> Told:
    """What the options say; operations by our names or those of nccl-tests. Raises BadInput."""
    known = nccl_tests.operation(op) if op else None
    if op and known is None:
        raise unknown("operation", op, collectives.NAMES, option="--op")
    return Told(op=known, ranks=ranks)


def read(names: Sequence[str], told: Told, command: Sequence[str]) -> tuple[Imported, ...]:
    """The runs in files; tests of one file on the same ranks are one run. Raises BadInput."""
    found = []
    for name in names:
        where = "standard input" if name == STANDARD_INPUT else name
        data = _bytes(name)
        for file in importers.sources(data, where, told):
            runs = (_run(together, file.name, told, command) for together in _runs(file.tests))
            found += [Imported(run, file.content) for run in runs]
    return tuple(found)


def _runs(tests: Sequence[Report]) -> Iterator[tuple[Report, ...]]:
    """Tests on the same ranks, together; one that was repeated begins another run."""
    for _, group in groupby(tests, key=_WORLD):
        together: list[Report] = []
        for test in group:
            if any(_rows(test) & _rows(other) for other in together):
                yield tuple(together)
                together = []
            together.append(test)
        yield tuple(together)


def _rows(test: Report) -> set[tuple[object, ...]]:
    return {(test.op, test.cadence, row.bytes, row.dtype, row.reduce_op) for row in test.rows}


def keep(imported: Imported, base: Path) -> Path:
    """Store a run beside those that were measured here; its source is log.txt. Raises RunDirError."""
    run, rows = imported.run, imported.run.measurements
    job = ProbeJob(
        run_id=run.info.id,
        ops=tuple(dict.fromkeys(row.op for row in rows)),
        sizes=Sizes(listed=tuple(dict.fromkeys(row.bytes for row in rows))),
        backend=run.info.backend or "auto",
        nodes=run.info.nodes,
        node_ranks=(),
    )
    folder = run_dir(base, job)
    try:
        folder.log(imported.source.decode(errors="replace"))
        folder.finish(document.to_json(run))
    finally:
        folder.close()
    return folder.path


def worst(found: Sequence[Imported]) -> Verdict:
    """That of the worst run: a check that failed, then what did not complete, then what cannot be judged."""
    return verdicts.worst(imported.run.verdict for imported in found)


def _bytes(name: str) -> bytes:
    if name == STANDARD_INPUT:
        return user_files.standard_input()
    return user_files.contents(name, remedy="check the name; - is standard input")


def _run(tests: tuple[Report, ...], where: str, told: Told, command: Sequence[str]) -> Run:
    measurements = tuple(row for test in tests for row in _measurements(test))
    findings = (*(finding for test in tests for finding in checks.findings(test, told)), _provenance(tests, where))
    first = tests[0]
    info = begun_now(
        tuple(command),
        backend=first.backend,
        backend_version=first.backend_version,
        backend_reason=f"imported from {first.tool}",
        transport="emulated" if first.emulated else None,
        tool=first.tool,
        source=where,
        nodes=len(first.hosts) if first.hosts else None,
        emulated=first.emulated,
        world_size=first.world_size,
        hosts=first.hosts or (),
    )
    return Run(
        info=info,
        verdict=of_findings(findings, can_tell=bool(measurements)),
        measurements=measurements,
        findings=findings,
        models=latency_model.models(measurements),
    )


def _provenance(tests: tuple[Report, ...], where: str) -> Finding:
    roots = {row.root for test in tests for row in test.rows if row.root}
    evidence = [text for test in tests for text in test.said]
    if roots:
        evidence.append("some rows have a root other than 0; a run does not store the root")
    evidence += [test.times for test in tests]
    evidence.append("the start time is the time of the import")
    return IMPORTED.finding(
        subject=Subject(kind="file", name=where),
        message=f"{where}: {', '.join(dict.fromkeys(f'{test.op} of {test.tool}' for test in tests))}",
        evidence=tuple(dict.fromkeys(evidence)),
    )


def _measurements(test: Report) -> Iterator[Measurement]:
    for row in test.rows:
        for half in row.halves:
            mean_s = _mean_s(test, row, half)
            if row.bytes and half.is_measured and mean_s:
                yield _measurement(test, row, half, mean_s)


def _mean_s(test: Report, row: Row, half: Half) -> float | None:
    """Time of one call. With -C 1 the printed one is not that which the bandwidths are made of."""
    if test.cpu_time:
        return row.bytes / half.algbw.value / 1e9 if half.algbw.value else None
    return half.time.value / 1e6


def _measurement(test: Report, row: Row, half: Half, mean_s: float) -> Measurement:
    op = collectives.get(test.op)
    algbw, busbw = checks.bandwidths(test, row, half)
    return Measurement(
        op=test.op,
        bytes=row.bytes,
        bytes_per_rank=checks.per_rank(test.op, test.world_size, row.bytes),
        count=checks.count(row, test.op, test.world_size) if row.count is None else row.count,
        dtype=row.dtype,
        reduce_op=row.reduce_op if op.reduces else None,
        placement=half.placement,
        cadence=test.cadence,
        iterations=half.iterations,
        time_s=_times(half, mean_s),
        algbw_bytes_per_s=algbw * 1e9,
        busbw_bytes_per_s=busbw * 1e9,
        wrong=half.wrong,
    )


def _times(half: Half, mean_s: float) -> Stats:
    """The printed mean, which the bandwidths are made of, with what is known of single iterations."""
    if half.samples_us:
        single = statistics.summarise([sample / 1e6 for sample in half.samples_us])
        return replace(single, mean=mean_s)
    many = (half.iterations or 0) >= statistics.MIN_FOR_P99
    return Stats(
        mean=mean_s,
        median=None,
        p90=None,
        p99=_seconds(half.p99_us) if many else None,
        min=_seconds(half.min_us),
        max=_seconds(half.max_us),
        ci95=None,
    )


def _seconds(microseconds: float | None) -> float | None:
    return None if microseconds is None or not math.isfinite(microseconds) else microseconds / 1e6
