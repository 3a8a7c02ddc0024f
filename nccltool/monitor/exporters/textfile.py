"""A file for node_exporter's textfile collector."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from nccltool.core import written_files
from nccltool.core.errors import BadInput
from nccltool.core.findings import Subject
from nccltool.monitor import exposition
from nccltool.monitor.exporters import AnyRun, TakeSamples

SUFFIX = ".prom"
"""The collector reads no others."""


@dataclass(frozen=True, slots=True)
class Destination:
    """The file."""

    EXAMPLE: ClassVar = "FILE.prom"
    file: str
    cluster: str = ""

    @classmethod
    def of_text(cls, where: str, cluster: str) -> "Destination":
        """Raises BadInput for a name that the collector does not read."""
        made = cls(where, cluster)
        made.check()
        return made

    def check(self) -> None:
        """Raises BadInput for a name that the collector does not read."""
        path = Path(self.file)
        if path.suffix != SUFFIX:
            raise BadInput(
                f"--textfile {self.file}: node_exporter reads only {SUFFIX} files", f"name it {path.stem}{SUFFIX}"
            )

    @property
    def subject(self) -> Subject:
        return Subject(kind="file", name=self.file)

    def hand_over(self, found: Sequence[AnyRun], samples: TakeSamples) -> str:
        """Replace the file in one step, so that no scrape sees half of it. Raises BadInput."""
        text = exposition.text(samples(found), cluster=self.cluster)
        self.check()
        try:
            with written_files.replacing(Path(self.file)) as file:
                os.fchmod(file.fileno(), 0o644)  # whatever the umask: the collector runs as another user
                file.write(text)
        except OSError as error:
            folder = "the folder of node_exporter's --collector.textfile.directory that you may write to"
            message = f"--textfile {self.file} cannot be written: {error.strerror}"
            raise BadInput(message, f"name a file in {folder}") from error
        return f"written to {self.file}"
