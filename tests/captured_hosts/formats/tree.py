"""Files and links of a tree that stands for the root of a host."""

import os
from collections.abc import Iterable
from pathlib import Path


class TreeWriter:
    """Makes what is asked for under a root, and the folders that it lies in."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._folders: set[Path] = set()

    def place(self, path: str) -> Path:
        """Where to make something, in a folder that is there."""
        place = self.root / path.lstrip("/")
        if place.parent not in self._folders:
            place.parent.mkdir(parents=True, exist_ok=True)
            self._folders.add(place.parent)
        return place

    def write(self, path: str, text: str | bytes) -> None:
        file = self.place(path)
        file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def lines(self, path: str, lines: Iterable[str]) -> None:
        self.write(path, "".join(f"{line}\n" for line in lines))

    def link(self, path: str, target: str) -> None:
        """A link to another path of the tree, relative as in /sys."""
        link = self.place(path)
        link.symlink_to(os.path.relpath(self.root / target.lstrip("/"), link.parent))

    def raw_link(self, path: str, target: str) -> None:
        link = self.place(path)
        link.symlink_to(target)

    def folder(self, path: str) -> None:
        (self.root / path.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def device(self, path: str) -> None:
        """A stand-in for a device file that everybody may use."""
        self.write(path, "")
        self.place(path).chmod(0o666)
