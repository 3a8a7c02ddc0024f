"""Reading the files of a checkpoint, and no others, as tensors and nothing else."""

import pickle
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta

from nccltool.train.checkpoints import Mark

_CLASSES = {
    ("pathlib", "PosixPath"),
    ("torch", "Size"),
    ("torch.serialization", "_get_layout"),
    ("torch.distributed.checkpoint.filesystem", "_StorageInfo"),
    *(
        ("torch.distributed.checkpoint.metadata", name)
        for name in (
            *("ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta", "TensorProperties"),
            *("TensorStorageMetadata", "_MEM_FORMAT_ENCODING"),
        )
    ),
}
"""What torch's own description of a checkpoint of tensors consists of."""


class CheckpointReader(FileSystemReader):
    """Reads the files that the mark names, and nothing else."""

    def __init__(self, path: Path, mark: Mark) -> None:
        super().__init__(path)
        self._folder, self._mark = path, mark

    def read_metadata(self, *args: Any, **kwargs: Any) -> Metadata:
        """As torch does, with a pickle that can only be a description."""
        with (self._folder / ".metadata").open("rb") as file:
            metadata = _Unpickler(file).load()
        foreign = {info.relative_path for info in metadata.storage_data.values()} - self._mark.files.keys()
        if foreign:
            raise ValueError(f"the checkpoint refers to files that do not belong to it: {sorted(foreign)[:3]}")
        metadata.storage_meta = metadata.storage_meta or StorageMeta()
        metadata.storage_meta.load_id = self.load_id
        return metadata


class _Unpickler(pickle.Unpickler):
    """torch keeps the description as a pickle, and a pickle can be any program."""

    def find_class(self, module: str, name: str) -> Any:
        """A class of the description, or a type of numbers."""
        is_type = module == "torch" and isinstance(getattr(torch, name, None), torch.dtype)
        if is_type or (module, name) in _CLASSES:
            return super().find_class(module, name)
        raise pickle.UnpicklingError(f"{module}.{name} does not belong in a checkpoint")
