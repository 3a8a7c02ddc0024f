"""The JSON file of nccl-tests 2.19.6 (version 3): what programs for `nccl-tests -J` read.

It is true to the letter where that is odd, because programs were written against files, not against a schema:

* booleans are the strings "true" and "false" ("okay" may be "unchecked"): a program that reads real files compares
  with the string, and would take a JSON boolean for a failure;
* `root` is a string padded to six characters, times are microseconds, bandwidths GB/s.

What differs, and why:

* `env` is empty: nccl-tests writes the whole environment, tokens and keys among it;
* `args` begins with the name of the program that nccl-tests would have, by which programs tell the operation;
* a placement that was not measured repeats the other one (see nccl_tests.py) with the extra key
  `"measured": false`;
* a placement with another number of iterations than the row has the extra key `iterations`;
* the key `nccltool` at the top has what nccl-tests has no word for;
* a file of nccl-tests holds one program: several operations are a list of such objects.

A run that did not complete has neither `out_of_bounds` nor `average_bus_bandwidth` in its last object, as when
nccl-tests is stopped.
"""

import json
from typing import Any

from nccltool.probe import nccl_tests
from nccltool.probe.nccl_tests import PrintedHalf, Table, TableLine
from nccltool.probe.result import Run


def render(run: Run) -> str:
    """One object, or a list of them for several operations, with a newline at the end."""
    tables = nccl_tests.tables(run)
    objects = [
        _file(run, nccl_tests.program(table.op), _test(run, table, table is tables[-1])) for table in tables
    ] or [_file(run, "nccltool", {"config": None, "results": []})]
    return json.dumps(objects[0] if len(objects) == 1 else objects, indent=2, allow_nan=False) + "\n"


def _test(run: Run, table: Table, is_last: bool) -> dict[str, Any]:
    test = {"config": _config(run, table), "results": [_result(line) for line in table.lines]}
    if run.verdict.status != "incomplete" or not is_last:
        test["out_of_bounds"] = {"count": table.failed_checks, "okay": _boolean(not table.failed_checks)}
        test["average_bus_bandwidth"] = {"bandwidth": table.mean_busbw, "okay": "unchecked"}
    return test


def _file(run: Run, program: str, test: dict[str, Any]) -> dict[str, Any]:
    info = run.info
    errors = [finding for finding in run.findings if finding.is_error]
    return {
        "version": nccl_tests.JSON_VERSION,
        "start_time": info.started.replace("T", " ").removesuffix("Z"),
        "args": [program, *info.command],
        "env": [],
        "nccl_version": nccl_tests.version_number(info.backend_version) if info.backend == "nccl" else None,
        **test,
        "errors": [f"{finding.code}: {finding.message}" for finding in errors],
        "end_time": None,
        "nccltool": {
            "version": info.nccltool,
            "run": info.id,
            "status": run.verdict.status,
            "backend": info.backend,
            "backend_version": info.backend_version,
            "emulated": info.emulated,
        },
    }


def _config(run: Run, table: Table) -> dict[str, Any]:
    kind, step = nccl_tests.step(table.sizes)
    return {
        "nthreads": 1,
        "ngpus": 1,
        "minimum_bytes": min(table.sizes),
        "maximum_bytes": max(table.sizes),
        f"step_{kind}": step,
        "warmup_iters": None,
        "iterations": table.measured[0].iterations,
        "aggregated_iterations": 1,
        "validation": table.validation,
        "graph": int(bool(run.info.cuda_graph)),
        "blocking_collectives": _boolean(table.cadence == "isolated"),
        "per_iter_timing": _boolean(False),
        "per_iter_skip": 0,
        "parallel_init": _boolean(False),
        "devices": [_device(run, rank) for rank in range(run.info.world_size or 0)],
    }


def _device(run: Run, rank: int) -> dict[str, Any]:
    return {
        "rank": rank,
        "group": 0,
        "pid": None,
        "hostname": nccl_tests.host_of(run, rank),
        "device": rank % nccl_tests.ranks_per_host(run),
        "device_hex": None,
        "device_info": run.info.backend,
    }


def _result(line: TableLine) -> dict[str, Any]:
    row = line.measured[0]
    out_of_place, in_place = line.halves
    return {
        "size": row.bytes,
        "count": row.count,
        "type": nccl_tests.type_word(row.dtype),
        "redop": row.reduce_op or "none",
        "root": line.root,
        "out_of_place": _half(out_of_place, row.iterations),
        "in_place": _half(in_place, row.iterations),
        "actual_iterations": row.iterations,
        "experiment_name": "",
    }


def _half(half: PrintedHalf, common: int | None) -> dict[str, Any]:
    row = half.row
    found: dict[str, Any] = {
        "time": row.time_s.seconds * 1e6,
        "alg_bw": row.algbw_bytes_per_s / 1e9,
        "bus_bw": row.busbw_bytes_per_s / 1e9,
        "nwrong": half.wrong,
    }
    if not half.is_measured:
        found["measured"] = False
    elif row.iterations != common:
        found["iterations"] = row.iterations
    return found


def _boolean(value: bool) -> str:
    return "true" if value else "false"
