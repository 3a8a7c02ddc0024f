"""The modules of the package, each read and parsed once."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nccltool

ROOT = Path(nccltool.__file__).parent


@dataclass(frozen=True)
class Module:
    name: str
    file: Path
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    @property
    def room(self) -> str:
        """Its row in the map: the folder under nccltool/."""
        return self.name.split(".")[1] if "." in self.name else self.name

    @cached_property
    def imports(self) -> frozenset[str]:
        return frozenset(self._imports())

    def _imports(self) -> Iterator[str]:
        """Everything that is imported, also inside functions. A name that is a module counts as one."""
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{self.name}:{node.lineno} imports relatively"
                base = node.module or ""
                inner = [f"{base}.{alias.name}" for alias in node.names]
                modules = [name for name in inner if name in MODULES]
                yield from modules
                if len(modules) < len(inner):
                    yield base


def _named(file: Path) -> str:
    parts = file.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_named(file): Module(_named(file), file, file.read_text()) for file in sorted(ROOT.rglob("*.py"))}
