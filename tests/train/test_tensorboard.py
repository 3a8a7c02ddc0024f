"""Event files of TensorBoard, where its package is not there; what it reads is tried in tests/worker."""

import importlib.util
from pathlib import Path

import pytest

from tests.conftest import Nccltool


@pytest.mark.skipif(importlib.util.find_spec("tensorboard") is not None, reason="tensorboard is installed")
def test_without_tensorboard(tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool("train", "ddp", "--tensorboard", str(tmp_path / "t"), "--run-dir", str(tmp_path / "runs"))
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("Error: --tensorboard: the package tensorboard is not installed here\n  -> ")
    assert list(tmp_path.iterdir()) == []
