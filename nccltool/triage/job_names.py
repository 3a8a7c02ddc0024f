"""What the name of a log tells: its job, or the rank, host or stream of a job that has several logs."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import PurePath

from nccltool.core import packed

_ROTATED = re.compile(r"(?:\.\d{1,3}|-\d{8})$")
_ENDING = re.compile(r"\.(?:log|txt|out|err|stdout|stderr|json)$", re.IGNORECASE)
_JOBS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?:^|[._-])slurm-(?P<job>\d+(?:_\d+)?)(?=$|[._-])",
        r"(?:^|[._-])job(?:_?id)?[._-]?(?P<job>[1-9]\d{2,})(?=$|[._-])",
        r"^(?P<job>[1-9]\d{3,})$",  # sbatch -o %j.out; ranks have fewer digits
        r"\.[oe](?P<job>\d{2,})(?:[-.]\d+)?$",  # PBS, SGE: NAME.o4711
    )
)
_OF_SBATCH = re.compile(r"[._-](?P<job>[1-9]\d{4,})\.(?:out|err)$")
"""NAME-%j.out. In other names a number like this is that of a process."""
_PARTS = re.compile(
    r"""(?ix) (?<![a-z])
      (?: (?:global|local)[._-]?rank | rank | node | host | worker | pod | task | proc(?:ess)? | gpu | device
        | trainer | launcher | master | replica | server | dgx | hgx | attempt | part | stage | pid | n | r )
      [._-]*\d+ (?!\d)"""
)
_STREAMS = re.compile(
    r"(?i)(?<![a-z])(?:(?:std)?(?:out|err)|errors?|logs?|output|nccl|torch|app|debug|main|kernel|dmesg|agent)(?![a-z])"
)
_NUMBER = re.compile(r"(?<![\da-z])\d{1,3}(?![\da-z])", re.IGNORECASE)
_DATE = re.compile(r"(?<!\d)(20\d\d)[-_.]?([01]\d)[-_.]?([0-3]\d)(?!\d)")
_SEVERAL = re.compile(r"\*[*._-]*")


@dataclass(frozen=True, slots=True)
class LogName:
    """The name of a log, taken apart."""

    job: str
    """The number of its job; empty = it tells none."""
    family: str
    """What remains without the parts: logs of one family are of one job, as far as names tell."""
    part: str
    """Rank, host and stream; empty = it does not look like one of several."""
    date: str = ""
    """The day in the name, as YYYYMMDD; empty = none."""


def taken_apart(path: str, hosts: Collection[str] = ()) -> LogName:
    """The name of a log, with its folders; `hosts`: lower-case names that the logs call hosts."""
    pure = PurePath(path)
    name = pure.name
    for ending in packed.ENDINGS:
        name = name.removesuffix(ending)
    if _ENDING.search(unrotated := _ROTATED.sub("", name)):
        name = unrotated
    stem = _ENDING.sub("", name)
    job = next((match["job"] for pattern in _JOBS if (match := pattern.search(stem))), "")
    if not job and not _PARTS.search(stem) and (match := _OF_SBATCH.search(name)):
        job = "" if _is_host(stem, hosts) else match["job"]
    parts: list[str] = []
    words = [_common(word, parts, hosts) for word in (*pure.parts[:-1], stem)]
    dates = {"".join(match.groups()) for match in _DATE.finditer(stem)}
    return LogName(job, "/".join(words), " ".join(parts), dates.pop() if len(dates) == 1 else "")


def _is_host(word: str, hosts: Collection[str]) -> bool:
    return word.lower() in hosts or word.lower().partition(".")[0] in hosts


def _common(word: str, parts: list[str], hosts: Collection[str]) -> str:
    """A word of a name without what differs between logs of one job."""

    def left_out(match: re.Match[str]) -> str:
        parts.append(match[0].lower())
        return "*"

    for host in sorted((host for host in hosts if host in word.lower()), key=len, reverse=True):
        word = re.sub(rf"(?i)(?<![a-z\d]){re.escape(host)}(?![a-z\d])", left_out, word)
    for pattern in (_PARTS, _STREAMS, _NUMBER):
        word = pattern.sub(left_out, word)
    return _SEVERAL.sub("*", word)
