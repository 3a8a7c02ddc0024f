"""The samples: made by hand in the layouts of nccl-tests 2.0 to 2.19 and rccl-tests, with made-up numbers."""

from pathlib import Path

from nccltool.interop import importers
from nccltool.interop.importers import Report, Told

FOLDER = Path(__file__).parent / "samples"

OLD = {
    "all_gather-2.10.txt": Told(op="all_gather"),
    "all_reduce-2.0-error.txt": Told(op="all_reduce"),
    "all_reduce-2.13.txt": Told(op="all_reduce"),
    "rccl-2024-in-place-only.txt": Told(op="all_reduce"),
    "ranks-cut.txt": Told(ranks=32),
}
"""What files do not say themselves."""

REFUSED = ("all_reduce-v3-stopped.json", "one-rank-jobs-mixed.txt")

NAMES = sorted(file.name for file in FOLDER.iterdir())
READ = [name for name in NAMES if name not in REFUSED]


def told(name: str) -> Told:
    return OLD.get(name, Told())


def data(name: str) -> bytes:
    return (FOLDER / name).read_bytes()


def read(name: str) -> tuple[Report, ...]:
    return importers.read(data(name), name, told(name))
