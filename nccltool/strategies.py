"""The names of the smoke trainings: the files in worker/trainings, which only ranks import."""

from pathlib import Path

NAMES = tuple(
    sorted(
        file.stem
        for file in (Path(__file__).parent / "worker/trainings").glob("*.py")
        if file.stem not in ("__init__", "base")
    )
)
