"""The names of the smoke trainings: the files in worker/train/strategies, which only ranks import."""

from pathlib import Path

NAMES = tuple(
    sorted(
        file.stem
        for file in (Path(__file__).parents[1] / "worker/train/strategies").glob("*.py")
        if file.stem not in ("__init__", "base")
    )
)
