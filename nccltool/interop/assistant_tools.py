"""What an assistant may ask nccltool: commands that only read, on files of folders that were allowed.

Each question runs the command itself, with a deadline, and its answer has its secrets removed, as a bundle has.
"""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nccltool.core import external_commands, redact
from nccltool.core.errors import BadInput
from nccltool.core.external_commands import Done
from nccltool.core.text import escaped

LIMIT_S = 300.0
"""For one question. Triage reads about 150 MB/s."""
LONGEST = 60_000
"""Characters of an answer; assistants have to read it all."""
_ANSWERS = (0, 1, 3, 4)
"""Exit codes of commands that have a result."""
_SAVED = re.compile(r"latest|\d{8}T[0-9A-Za-z-]{1,40}|baseline:[\w.-]{1,100}", re.ASCII)
"""Names of saved runs and baselines, which are no files."""
_NAME = re.compile(r"\w[\w:-]*", re.ASCII)
"""What may be such a name, mistyped."""


@dataclass(frozen=True, slots=True)
class AssistantTools:
    """The questions, with docstrings for assistants. Each returns what its command prints. Raises BadInput."""

    allowed: tuple[Path, ...]
    """Folders whose files may be read."""

    def doctor(self, env_files: list[str] | None = None, root: str = "", nccl_version: str = "") -> str:
        """Check NCCL settings of this host, of files with variables (env_files), or of a captured tree (root)."""
        words = [word for file in env_files or () for word in ("--env-file", self._path(file))]
        words += ["--root", self._path(root)] if root else []
        words += [f"--nccl-version={nccl_version}"] if nccl_version else []
        return _answer("doctor", words)

    def triage(self, paths: list[str]) -> str:
        """Find the root cause of a failed job. A path is a log, a folder of logs, or the id of a saved run."""
        if not paths:
            raise BadInput("paths is empty", "name a log, a folder of logs, or a saved run")
        return _answer("triage", ["--verbose", "--", *map(self._saved_or_path, paths)])

    def explain(self, word: str) -> str:
        """Explain a word that nccltool prints: a finding, rule, root cause, variable, metric, or exit code."""
        return _answer("explain", ["--", word])

    def runs(self, run: str = "") -> str:
        """Show a saved run (an id or latest), or list the newest ones."""
        return _answer("runs", ["--verbose", "--", self._saved_or_path(run)] if run else ["--limit", "20"])

    def compare(self, a: str, b: str) -> str:
        """Compare two runs, or a run with a baseline (baseline:NAME): is b worse than a?"""
        return _answer("compare", ["--", self._saved_or_path(a), self._saved_or_path(b)])

    def _saved_or_path(self, word: str) -> str:
        """A mistyped name of a run is no path: its command says what is like it."""
        if _SAVED.fullmatch(word) or (_NAME.fullmatch(word) and not os.path.lexists(word)):
            return word
        return self._path(word)

    def _path(self, text: str) -> str:
        """An absolute path without links. Raises BadInput where it, or a link in its folder, leads elsewhere."""
        path = _resolved(text)
        if not self._allows(path):
            folders = ", ".join(map(str, self.allowed))
            raise BadInput(
                f"{escaped(str(path))} is outside of the folders that this server may read: {folders}",
                "start it with --allow FOLDER",
            )
        if path.is_dir() and (link := self._link_out(path)):
            raise BadInput(
                f"{escaped(str(path))} contains a link that leads out of the folders that this server may read: "
                f"{escaped(str(link))}",
                "name the files in it, or remove the link",
            )
        return str(path)

    def _allows(self, path: Path) -> bool:
        return any(path.is_relative_to(folder.resolve()) for folder in self.allowed)

    def _link_out(self, folder: Path) -> Path | None:
        """The first link in a folder, at any depth, that leads to what may not be read."""
        for place, folders, files in os.walk(folder):
            for entry in (Path(place, name) for name in (*folders, *files)):
                if entry.is_symlink() and not self._allows(_resolved(str(entry))):
                    return entry
        return None


def _resolved(text: str) -> Path:
    """Without links. Raises BadInput."""
    try:
        return Path(text).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise BadInput(f"{escaped(text[:200])} is not a path: {error}", "name a file") from error


def _answer(command: str, words: Sequence[str]) -> str:
    env = {**os.environ, "NO_COLOR": "1"}
    done = external_commands.run((sys.executable, "-P", "-m", "nccltool", command, *words), LIMIT_S, env)
    if not isinstance(done, Done):
        raise BadInput(f"nccltool {command}: {done.reason}", "ask about less")
    if done.code not in _ANSWERS:
        raise BadInput(_clean(done.err.strip() or f"nccltool {command} ended with {done.code}"))
    text = _clean(done.out if done.out.strip() else done.err)
    left = len(text) - LONGEST
    return text if left <= 0 else f"{text[:LONGEST]}\n({left} more characters were left out)\n"


def _clean(text: str) -> str:
    return redact.redacted(text)[0]
