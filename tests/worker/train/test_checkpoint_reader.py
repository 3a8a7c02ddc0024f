"""What is read of a checkpoint, and what is not run."""

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.checkpoint.filesystem import _StorageInfo
from torch.distributed.checkpoint.metadata import Metadata, MetadataIndex

from nccltool.train.checkpoints import File, Mark
from nccltool.worker.train.checkpoint_reader import CheckpointReader

pytestmark = [
    pytest.mark.torch,
    pytest.mark.quick,
    # torch's own, while its optimizers are imported
    pytest.mark.filterwarnings("ignore:.*torch.jit.* is deprecated:DeprecationWarning"),
]


class Calls:
    """Pickled as a call."""

    def __init__(self, function: Callable[..., object], *arguments: object) -> None:
        self._call = (function, arguments)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return self._call


def mark(*files: str) -> Mark:
    kept = {name: File(bytes=1, sha256="") for name in files}
    return Mark(strategy="ddp", step=1, ranks=1, sequences=1, trained={}, files=kept)


def read(folder: Path, content: Any, *files: str) -> Metadata:
    (folder / ".metadata").write_bytes(pickle.dumps(content))
    return CheckpointReader(folder, mark(*files)).read_metadata()


@pytest.mark.parametrize("function", [eval, exec, print, getattr, torch.load, pickle.loads, io.open])
def test_a_description_that_calls_something_is_refused(tmp_path: Path, function: Callable[..., object]) -> None:
    effect = tmp_path / "effect"
    with pytest.raises(pickle.UnpicklingError, match="does not belong in a checkpoint"):
        read(tmp_path, Calls(function, f"open({str(effect)!r}, 'w')"))
    assert not effect.exists()


def test_it_speaks_of_its_own_files_only(tmp_path: Path) -> None:
    info = _StorageInfo(relative_path="../elsewhere", offset=0, length=1)
    metadata = Metadata(state_dict_metadata={}, storage_data={MetadataIndex("model.a"): info})
    with pytest.raises(ValueError, match="files that do not belong to it"):
        read(tmp_path, metadata, "__0_0.distcp")
    assert read(tmp_path, metadata, "../elsewhere").storage_data
