"""Outputs of other benchmarks, composed by hand in the layouts of their sources, with made-up numbers."""

from pathlib import Path

from nccltool.interop import importers
from nccltool.interop.importers import Report, Told

FOLDER = Path(__file__).parent / "foreign"
GOLDEN = FOLDER.parent / "foreign_golden"

RANKS = {"osu-allreduce-full.txt": 8, "osu-collectives-old.txt": 4, "osu-nccl-validation-failed.txt": 4}
"""What files do not say themselves."""

NAMES = sorted(file.name for file in FOLDER.iterdir())


def told(name: str) -> Told:
    return Told(ranks=RANKS.get(name))


def data(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def read(name: str) -> tuple[Report, ...]:
    return importers.read(data(name), name, told(name))
