"""mpiGraph's matrix as pairs: each process sends to each other one, at distance D in the round D."""

from collections import defaultdict
from statistics import median

import nccltool.interop.importers.mpigraph as mpigraph
from nccltool.core.text import counted
from nccltool.interop.importers import rates
from nccltool.interop.pair_inputs.base import MOST, PairFile, refuse
from nccltool.localize.encounter import Encounter

recognises = mpigraph.recognises


def read(content: str, where: str) -> PairFile:
    """The directed pairs of hosts in a text. Raises BadInput."""
    found: list[Encounter] = []
    notes: list[str] = []
    missing: list[str] = []
    for before, matrix in enumerate(mpigraph.matrices(content, where)):
        if len(matrix.rates) > MOST:
            refuse(where, f"it has more than {MOST} pairs", "run mpiGraph on one process per node")
        if matrix.torn:
            notes.append(f"{where}: {len(matrix.torn)} incomplete rows left out")
        every = matrix.processes * (matrix.processes - 1)
        if absent := every - len(matrix.rates):
            missing.append(f"{where}: {absent} of {counted(every, 'pair')} missing")
        found += _encounters(matrix, before * matrix.processes)
    if not found:
        refuse(where, "its matrix has no complete row between two hosts", "pass the complete, unchanged output")
    return PairFile(encounters=tuple(found), notes=tuple(notes), missing=tuple(missing))


def _encounters(matrix: mpigraph.Matrix, first_round: int) -> list[Encounter]:
    """Of several processes of two hosts, the middle one."""
    rounds: dict[tuple[str, str], int] = {}
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for (sender, receiver), rate in matrix.rates.items():
        a, b = (matrix.hosts.get(process, f"process {process}") for process in (sender, receiver))
        if a == b:
            continue
        rounds.setdefault((a, b), first_round + (receiver - sender) % matrix.processes)
        values[a, b].append(rate.value * rates.MEBIBYTES * 1e9)
    return [
        Encounter(
            members=pair,
            busbw_bytes_per_s=middle if (middle := median(several)) > 0 else None,
            round=rounds[pair],
            is_directed=True,
            reason=None if middle > 0 else "bandwidth 0",
        )
        for pair, several in values.items()
    ]
