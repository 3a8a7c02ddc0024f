"""Which machine a word means, and what a run measured of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from nccltool.core import user_files
from nccltool.core.errors import BadInput
from nccltool.core.unknown_names import unknown
from nccltool.hosts import reader
from nccltool.hosts.facts import SnapshotReader
from nccltool.plan import host_machine
from nccltool.plan.hardware import Machine, MeasuredCollective
from nccltool.preflight import suite_reader
from nccltool.preflight import suite_toml as toml
from nccltool.probe import latency_model
from nccltool.probe.result import Run
from nccltool.train import peak_flops

HERE = "host"
"""The word for this host."""
USUAL = "h100-sxm-8"
"""Where no machine is named."""
_RATES = {"GB/s": 1e9, "TB/s": 1e12}
_KEYS: Mapping[str, tuple[str, toml.Convert]] = {
    "gpu": ("gpu", toml.text),
    "memory": ("memory_bytes", lambda value: int(toml.number(value, {"GB": 1e9, "GiB": 2.0**30}))),
    "memory_rate": ("memory_bytes_per_s", lambda value: toml.number(value, _RATES)),
    "matmul": ("matmul_flop_per_s", lambda value: toml.number(value, {"TFLOP/s": 1e12})),
    "peak": ("peak_flop_per_s", lambda value: toml.number(value, {"TFLOP/s": 1e12})),
    "gpus": ("gpus", toml.whole(1, 1024)),
    "inside": ("inside_bytes_per_s", lambda value: toml.number(value, _RATES)),
    "inside_all_reduce": ("inside_all_reduce_bytes_per_s", lambda value: toml.number(value, _RATES)),
    "across": ("across_bytes_per_s", lambda value: toml.number(value, _RATES)),
    "pcie": ("pcie_bytes_per_s", lambda value: toml.number(value, _RATES)),
    "source": ("source", toml.text),
}
"""Key of a file -> field, and how it is read."""
_OPTIONAL = ("peak", "inside_all_reduce", "pcie")
_OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv")


def folder() -> Path:
    return suite_reader.folder() / "machines"


def names() -> tuple[str, ...]:
    """Of the machines that come with nccltool."""
    return tuple(file.stem for file in sorted(folder().glob("*.toml")))


def of_word(word: str) -> Machine:
    """Raises BadInput."""
    if word == HERE or word.endswith(".json"):
        facts = (
            reader.take() if word == HERE else SnapshotReader().read(user_files.contents(word, "--machine"), word)
        )
        return host_machine.of_facts(facts, word, [of_file(folder() / f"{name}.toml") for name in names()])
    if "/" in word or word.endswith(".toml"):
        return of_file(Path(word))
    if word not in names():
        raise unknown(
            "machine",
            word,
            names(),
            option="--machine",
            see=f"choose from {', '.join(names())}, {HERE}, ./FILE.toml, or a snapshot of nccltool facts",
        )
    return of_file(folder() / f"{word}.toml")


def of_file(file: Path) -> Machine:
    """Raises BadInput with the first mistake."""
    table = toml.opened(file, "the machine")
    table.table((), table.data, {"schema": toml.whole(1, 1), "title": toml.text, "machine": lambda value: value})
    table.needed((), table.data, ("schema", "title", "machine"))
    given = table.data.get("machine", {})
    values = table.table(("machine",), given, {key: convert for key, (_, convert) in _KEYS.items()})
    table.needed(("machine",), given, [key for key in _KEYS if key not in _OPTIONAL])
    if not table.problems and "peak" not in values and peak_flops.of(values["gpu"], "bfloat16") is None:
        table.wrong(("machine", "gpu"), f'the peak of {values["gpu"]} is unknown: set peak = "... TFLOP/s"')
    table.done()
    known = peak_flops.of(values["gpu"], "bfloat16")
    values.setdefault("peak", known.flop_per_s if known else 0.0)
    values.setdefault("inside_all_reduce", values["inside"])
    return Machine(name=file.stem, **{_KEYS[key][0]: value for key, value in values.items()})


def with_runs(machine: Machine, runs: Sequence[Run]) -> Machine:
    """A machine whose collectives are as fast as in runs of probe. Raises BadInput if one fits no model."""
    measured = tuple(one for run in runs for one in _measured(run))
    last = runs[-1].info
    assert last.nodes is not None
    assert last.world_size is not None
    per_node = last.world_size // last.nodes if last.world_size > 1 else machine.gpus
    ids = ", ".join(run.info.id for run in runs)
    return replace(
        machine,
        measured=measured,
        gpus=per_node,
        is_gloo=last.backend == "gloo",
        source=f"{machine.source}; collectives: run {ids}",
    )


def with_probes(machine: Machine, runs: Sequence[Run], name: str) -> Machine:
    """The same of runs that their user calls so."""
    try:
        return with_runs(machine, runs)
    except BadInput as error:
        raise BadInput(f"--run {name}: {error.message}", error.remedy) from error


def has_links(run: Run) -> bool:
    """Whether a plan can take the speed of its links from a run."""
    try:
        return (run.info.world_size or 0) > 1 and bool(_measured(run))
    except BadInput:
        return False


def _measured(run: Run) -> tuple[MeasuredCollective, ...]:
    """Raises BadInput where it fits no latency-bandwidth model."""
    nodes, ranks = run.info.nodes, run.info.world_size
    if nodes is None or ranks is None or not 1 <= nodes <= ranks:
        raise BadInput("nodes or ranks of that run are unknown", "use a run of nccltool probe")
    fitted = [
        model
        for model in latency_model.models(run.measurements)
        if model.op in _OPERATIONS and model.group is None
    ]
    found = {model.op: model for model in fitted}  # placements hardly differ; the last counts
    if not found:
        remedy = (
            f"nccltool probe -b 8 -e 1G measures all sizes that a model needs ({latency_model.MIN_SIZES} at least)"
        )
        raise BadInput("it has no operation with enough sizes", remedy)
    return tuple(
        MeasuredCollective(
            operation=op,  # type: ignore[arg-type]
            ranks=ranks,
            is_across=nodes > 1,
            alpha_s=model.alpha_s,
            busbw_bytes_per_s=model.beta_bytes_per_s * _bus_factor(op, ranks),
        )
        for op, model in found.items()
    )


def _bus_factor(op: str, ranks: int) -> float:
    """Of nccl-tests: bus bandwidth over algorithm bandwidth."""
    if op in ("broadcast", "send_recv"):
        return 1.0
    return (2 if op == "all_reduce" else 1) * (ranks - 1) / ranks
