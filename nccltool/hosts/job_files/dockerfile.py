"""Variables that the ENV instructions of a Dockerfile set in its last image.

A value that depends on a variable without a value here is not known, and left out.
"""

import re
from collections.abc import Iterator

from nccltool.hosts import shell_words
from nccltool.hosts.job_files.base import JobSetting, parted
from nccltool.hosts.shell_words import UnreadableValue

_BEGINS = re.compile(r"\A(?:[ \t]*(?:#.*)?\n|ARG[ \t].*\n)*FROM[ \t]+\S", re.IGNORECASE)
_INSTRUCTION = re.compile(
    r"^[ \t]*(?P<word>FROM|ENV|ARG)[ \t]+(?P<rest>(?:\\\r?\n|.)*)", re.IGNORECASE | re.MULTILINE
)
_FROM = re.compile(r"(?:--\S+[ \t]+)*(\S+)(?:[ \t]+AS[ \t]+(\S+))?", re.IGNORECASE)
_OLD = re.compile(r"([A-Za-z_]\w*)[ \t]+(\S.*)", re.ASCII)


def is_dockerfile(text: str) -> bool:
    """Whether its first instruction is FROM, but for ARG."""
    return _BEGINS.match(text) is not None


def settings(text: str) -> tuple[JobSetting, ...]:
    """The variables of the last stage and of those that it is built on, in the order of their lines."""
    stages, own = dict[str, list[JobSetting]](), list[JobSetting]()
    known = dict[str, str | None]()
    for found in _INSTRUCTION.finditer(text):
        word, rest = found["word"].upper(), re.sub(r"\\\r?\n[ \t]*", " ", found["rest"]).strip()
        if word == "FROM" and (image := _FROM.match(rest)):
            own = list(stages.get(image[1].lower(), ()))
            stages[(image[2] or "").lower()] = own
            known = {one.name: one.value for one in own}
        elif word == "ARG":
            name, _, value = rest.partition("=")
            known[name] = value.strip("'\"") if value else None
        elif word == "ENV":
            own += _assigned(rest, 1 + text.count("\n", 0, found.start()), known)
    return tuple(own)


def _assigned(rest: str, number: int, known: dict[str, str | None]) -> Iterator[JobSetting]:
    """What one ENV sets: `A=b C=d`, or in the old form `A b`."""
    if old := _OLD.fullmatch(rest):
        pairs = [(old[1], old[2])]
    else:
        words = next(iter(shell_words.commands(rest)), [])
        pairs = [pair for word in words if (pair := parted(word.raw))]
    before = dict(known)  # the variables of one instruction do not see each other
    for name, raw in pairs:
        try:
            value = known[name] = shell_words.value(name, raw, before, {})
        except UnreadableValue:
            known[name] = None
            continue
        yield JobSetting(number=number, name=name, value=value)
