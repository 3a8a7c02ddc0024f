"""A file with a line of JSON for each sample: --metrics jsonlines:FILE."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nccltool.core.findings import Subject
from nccltool.monitor.exporters import AnyRun, TakeSamples

NCCLTOOL_PLUGIN = 1


@dataclass(frozen=True, slots=True)
class Destination:
    """The file."""

    EXAMPLE: ClassVar = "FILE"
    file: str

    @classmethod
    def of_text(cls, where: str, cluster: str) -> "Destination":
        """Any name will do."""
        return cls(where)

    @property
    def subject(self) -> Subject:
        """What is named where it cannot be written."""
        return Subject(kind="file", name=self.file)

    def hand_over(self, found: Sequence[AnyRun], samples: TakeSamples) -> str:
        """Write the file anew."""
        lines = (json.dumps([sample.metric, sample.labels, sample.value]) for sample in samples(found))
        Path(self.file).write_text("".join(f"{line}\n" for line in lines))
        return f"written to {self.file}"
