"""Python imports this at its start. With PAPER_GPU it makes the process believe in the GPUs of that file."""

import importlib.util
import os
import sys
from pathlib import Path


def _install() -> None:
    here = Path(__file__).parent
    spec = importlib.util.spec_from_file_location("papermachine", here.parent / "machine.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["papermachine"] = module
    spec.loader.exec_module(module)
    machine = module.read(Path(os.environ["PAPER_GPU"]))
    for name in ("paperhost", "papertorch"):
        if importlib.util.find_spec(name) and (name != "paperhost" or machine.kind is not None):
            importlib.import_module(name).install(machine)


if os.environ.get("PAPER_GPU"):
    _install()
