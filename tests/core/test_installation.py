"""The versions for a bug report."""

import json
import platform
import sys
from importlib import metadata

import pytest

from nccltool import __version__
from nccltool.core import installation


def test_what_is_here() -> None:
    found = installation.here()
    assert (found.nccltool, found.python) == (__version__, platform.python_version())
    assert found.torch == metadata.version("torch")


def test_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    found = installation.here()
    assert found.torch is None
    text = f"nccltool {__version__}\nPython {platform.python_version()} ({sys.executable})\ntorch not installed\n"
    assert installation.to_text(found) == text
    assert json.loads(installation.to_json(found))["installation"]["torch"] is None
