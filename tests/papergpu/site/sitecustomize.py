"""Python imports this at its start. With PAPER_GPU it makes the process believe in the GPUs of that file."""

import importlib.util
import os
from importlib import import_module
from pathlib import Path


def _install(file: Path) -> None:
    from tests.papergpu import machine, torch_side

    paper = machine.read(file)
    if paper.kind is not None and importlib.util.find_spec("paperhost"):
        import_module("paperhost").install(paper)
    torch_side.install(paper)


if os.environ.get("PAPER_GPU"):
    _install(Path(os.environ["PAPER_GPU"]))
