"""Variables that a batch script sets: by assignments, by `export`, and on the command lines of launchers.

Nothing is run. Of branches, all are read. A value that depends on a command, or on a variable that is not set
here, is not known, and left out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from nccltool.hosts import shell_words
from nccltool.hosts.job_files.base import NAME, JobSetting, parted
from nccltool.hosts.shell_words import UnreadableValue, Word

_DIRECTIVE = re.compile(r"^#(?:SBATCH|PBS|BSUB|FLUX|flux:|\$ -)", re.MULTILINE)
_LAUNCH = re.compile(
    r"^[ \t]*(?:(?:exec|nohup|time)[ \t]+)?(?:srun|torchrun|mpirun|mpiexec|prterun|jsrun|flux run"
    r"|accelerate launch|deepspeed|python3? -m torch\.distributed\.\w+)[ \t]",
    re.MULTILINE,
)
_EXPORT_OF_SBATCH = re.compile(r"^#SBATCH[ \t].*?--export[= ](\S+)", re.MULTILINE)
_PARTS = re.compile(r"(?:'[^']*'|[^,'])+")
_PAIR_BEHIND = frozenset({"-x", "-e", "--env"})
"""Options of mpirun, docker, and Apptainer before NAME=value."""
_TWO_BEHIND = frozenset({"-genv", "-env"})
"""Options of Hydra before a name and a value."""


def is_script(text: str) -> bool:
    """Whether it has directives for a scheduler, or starts ranks."""
    return bool(_DIRECTIVE.search(text) or _LAUNCH.search(text))


def settings(text: str, environ: Mapping[str, str]) -> tuple[JobSetting, ...]:
    """The variables of a script, in the order of their lines. `environ`: what it inherits."""
    script = _Script(environ, exports_all=shell_words.EXPORTS_ALL.search(text) is not None)
    for found in _EXPORT_OF_SBATCH.finditer(text):
        script.number = 1 + text.count("\n", 0, found.start())
        script.set_by_list(found[1].strip('"'))
    counted, number = 0, 1
    for words in shell_words.commands(text):
        number += text.count("\n", counted, words[0].start)
        counted = words[0].start
        script.number = number
        script.run(words, text)
    return tuple(sorted(script.found, key=lambda one: one.number))


@dataclass(slots=True)
class _Script:
    """What is set up to a line."""

    environ: Mapping[str, str]
    exports_all: bool
    number: int = 0
    known: dict[str, str | None] = field(default_factory=dict)
    """None: the value is not known."""
    exported: set[str] = field(default_factory=set)
    found: list[JobSetting] = field(default_factory=list)

    def run(self, words: Sequence[Word], text: str) -> None:
        """Take what one command sets."""
        begin, words = words[0].start, list(words)
        first = next((place for place, word in enumerate(words) if not parted(word.raw)), len(words))
        for word in words[:first]:
            name, raw = parted(word.raw) or ("", "")
            self._assign(name, self._value(name, raw), is_exported=first < len(words), lasts=first == len(words))
        if first == len(words):
            return
        command, rest = words[first].raw, words[first + 1 :]
        if command in ("export", "declare", "typeset"):
            if command == "export" or (rest and rest[0].raw == "-x"):
                self._export([word.raw for word in rest if not word.raw.startswith("-")])
        elif command == "unset":
            gone = {word.raw for word in rest}
            self.found = [one for one in self.found if one.name not in gone]
            self.known |= dict.fromkeys(gone)
        elif command == "setenv" and len(rest) == 2:
            self._assign(rest[0].raw, self._value(rest[0].raw, rest[1].raw), is_exported=True)
        else:
            values = [self._value("", word.raw) for word in rest]
            for place, one in enumerate(values):
                self.number += text.count("\n", begin, rest[place].start)
                begin = rest[place].start
                self._take_option(one, values[place + 1 : place + 3], is_env=command == "env")

    def take_words(self, words: Sequence[str | None]) -> None:
        """Take what a command line of plain words sets."""
        for place, one in enumerate(words):
            self._take_option(one, words[place + 1 : place + 3], is_env=words[0] == "env")

    def set_by_list(self, listed: str) -> None:
        """--export of Slurm: a comma outside of quotes ends a value, and a name without one is passed on."""
        for part in _PARTS.findall(listed):
            if pair := parted(part.replace("'", "")):
                self._set(*pair)

    def _take_option(self, word: str | None, behind: Sequence[str | None], is_env: bool) -> None:
        """`behind`: the next two words."""
        if word is None:
            return
        follows = behind[0] if behind else None
        if word in _PAIR_BEHIND and follows and (pair := parted(follows)):
            self._set(*pair)
        elif word in _TWO_BEHIND and len(behind) == 2 and behind[0] and behind[1] is not None:
            self._set(behind[0], behind[1])
        elif word.startswith("--env=") and (pair := parted(word[6:])):
            self._set(*pair)
        elif word.startswith("--export="):
            self.set_by_list(word[9:])
        elif word == "--export" and follows:
            self.set_by_list(follows)
        elif is_env and (pair := parted(word)):
            self._set(*pair)

    def _export(self, given: Sequence[str]) -> None:
        for raw in given:
            if pair := parted(raw):
                self._assign(pair[0], self._value(*pair), is_exported=True)
                self.exported.add(pair[0])
            elif NAME.fullmatch(raw):
                self.exported.add(raw)
                if raw in self.known:
                    self._assign(raw, self.known[raw], is_exported=True)

    def _assign(self, name: str, value: str | None, is_exported: bool, lasts: bool = True) -> None:
        if lasts:
            self.known[name] = value
        if value is not None:
            exported = is_exported or self.exports_all or name in self.exported or name in self.environ
            self._set(name, value, is_exported=exported)

    def _set(self, name: str, value: str, is_exported: bool = True) -> None:
        self.found.append(JobSetting(number=self.number, name=name, value=value, is_exported=is_exported))

    def _value(self, name: str, raw: str) -> str | None:
        try:
            return shell_words.value(name, raw, self.known, self.environ)
        except UnreadableValue:
            return None


def of_words(words: Sequence[str], number: int, environ: Mapping[str, str]) -> Iterator[JobSetting]:
    """The variables that a command line of plain words sets."""
    script = _Script(environ, exports_all=False, number=number)
    script.take_words(list(words))
    yield from script.found
