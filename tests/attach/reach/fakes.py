"""Commands of schedulers, as small scripts that print what is given."""

from pathlib import Path

import pytest


def on_the_path(monkeypatch: pytest.MonkeyPatch, folder: Path, **scripts: str) -> None:
    """`scripts`: name = lines of sh."""
    for name, text in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
