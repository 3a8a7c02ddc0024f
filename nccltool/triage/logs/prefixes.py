"""What launchers and collectors put before a line: who wrote it, when, on which host.

srun --label, Open MPI's and PRRTE's tags, torchrun's [default3]:, [rank3]:, kubectl logs --prefix, docker compose,
Ray and vLLM actors, clush, syslog and dmesg, glog and Python logging. They come in any order and depth.
"""

import calendar
import re

from nccltool.core.text import whole
from nccltool.triage.logs.base import SourceLine

_DEEPEST = 6
_MONTHS = {name: f"{number:02}" for number, name in enumerate(calendar.month_abbr) if name}

_BEFORE = re.compile(
    r"""(?:
      \[(?:\d+,)?(?P<mpi>\d+)\]<std(?:out|err)>:?[ ]?
    | \[(?:prterun|prte|mpirun)[^\]]*,(?P<prte>\d+)\]<std(?:out|err)>:?[ ]?
    | \[\d{4}-\d\d-\d\dT[\d:.]+Z\][ ][\w.-]+[ ]\|\|[ ]
    | [ ]*(?P<task>\d{1,5}):[ ](?![\d ]*-)
    | \[(?P<label>\d{1,5})\][ ](?=\S)(?!.{0,60}[NR]CCL[ ])
    | \[\d{10}\.\d{3,9}\][ ](?=\[)
    | \[default(?P<local>\d+)\]:[ ]?
    | \[[Rr]ank[ :]{0,2}(?P<rank>\d+)\]:?[ ]?
    | (?P<plain>[Rr]ank[ ]?\d+)[ ]?[:|][ ]
    | \[pod/(?P<pod>[^/\]\s]+)/[^\]]*\][ ]?
    | (?P<compose>[A-Za-z][\w.-]*[-_.]?\d[\w.-]*|[a-z]+(?:-[a-z]+)+(?=[ ]+\|[ ][(\[]))[ ]*\|[ ]?
    | \[(?P<crashed>[A-Za-z][\w.-]*):\d+(?:[ ]*:\d+)*\][ ]+(?=\S)
    | \((?P<actor>[\w.:\[\]\-]+(?:[ ][\w.=\-]+)?)[ ]pid=(?P<pid>\d+)(?:,[ ]ip=(?P<ip>[\d.a-f:]+))?\)[ ]?
    | \([\w.-]+,[ ]rank=(?P<skytask>\d+),[ ]pid=(?P<skypid>\d+),[ ]ip=(?P<skyip>[\d.a-f:]+)\)[ ]?
    | \[\d{4}-\d\d-\d\d[ ][\d:]{8}[ ]
      (?:DP(?P<dp>\d+)[ ](?=TP(?P=dp)[ ]EP(?P=dp)\]))?TP(?P<sglang>\d+)(?:[ ]EP\d+)?\][ ]
    | \|[ ](?=\S)
    | (?:[A-Za-z][\w.-]*[ ])?\[(?P<stream>stdout|stderr)\][ ]
    | \[(?P<bracket>[a-z][a-z\d.]*(?:-[a-z\d.]+)*-[a-z]*\d+
      |(?:node|worker|host|trainer|dgx|hgx|server|hpc)\d+)\]:?[ ]?(?=\S)
    | \(raylet(?:,[ ]ip=(?P<rayip>[\d.a-f:]+))?\)[ ]?
    | (?P<letter>(?:node|host|worker|server|trainer|machine)[-_][a-z]):[ ](?=\S)(?!Test[ ])
    | (?P<clush>(?!(?:gpu|cuda)\d*:|mlx|step|epoch|iter|slurmstepd)[a-z][\w-]*\d[\w-]*):[ ](?=\S)(?!Test[ ])
    | [A-Z][a-z]{2}[ ]{1,2}\d{1,2}[ ][\d:]{8}[ ](?P<syslog>[\w.-]+)[ ]
      (?=kernel:|systemd|nv-fabric|nvidia|slurm|kubelet|[\w.-]+\[\d+\]:)
    | \d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)[ ]
      (?:std(?:out|err)[ ][FP][ ]|(?P<isolog>[\w.-]+)[ ]
      (?=kernel:|systemd|nv-fabric|nvidia|slurm|kubelet|[\w.-]+\[\d))?
    | \d{4}-\d\d-\d\d[ ]\d\d:\d\d:\d\d(?:[.,]\d+)?[ ]
      (?=Traceback[ ]|[A-Za-z_][\w.]*(?:Error|Exception)\b|[ ]+File[ ]")
    | \d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?[ ](?:[-|][ ])?(?:\[?[\w./-]{1,40}\]?(?:[ ][-|])?[ ])?
      \[?(?:CRITICAL|ERROR|WARNING|INFO)\]?(?:[ ][-|:][ ]|:[ ]{4}|:[ ]|[ ])
      (?=Traceback[ ]|[A-Za-z_][\w.]*(?:Error|Exception)\b|[ ]+File[ ]"|\[[Rr]ank[ ]?\d+\]:|[EWIF]\d{4}[ ])
    | (?:(?P<error>CRITICAL|ERROR)|WARNING|INFO)[ ]\d\d-\d\d[ ][\d:]{8}(?:\.\d+)?[ ]\[[\w./]+(?::\d+)?\][ ]?
    | (?:(?P<vllmerror>CRITICAL|ERROR)|WARNING|INFO)[ ]\d\d-\d\d[ ][\d:]{8}[ ][\w/]+\.py:\d+\][ ]?
    | (?:(?P<glogerror>[EF])|[WI])\d{4}[ ][\d:.]+[ ]+(?P<glogpid>\d+)[ ][\w./-]+:\d+\][ ]+
    | \d\d:\d\d:\d\d[ ](?=\S)
    )""",
    re.VERBOSE,
)
_LOGGED = re.compile(
    r"""(?:
      \[?(?P<pdsh>\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3})(?:\]:?|:)[ ](?=\S)
    | [\[(](?:[Gg]lobal[ _])?[Rr]ank[ :=_]{0,2}(?P<of>\d+)(?:/\d+)?[\])]:?[ ]?
    | [\[(](?:host(?:name)?=)?(?P<beside>[a-z][\w.-]*\d)[ ,:|/@]{1,2}[Rr]ank[ :=]?(?P<on>\d+)[\])]:?[ ]?
    | [\[(][Rr]ank[ :=]?(?P<at>\d+)[ ,|/@]{1,2}(?:host(?:name)?=)?(?P<behind>[a-z][\w.-]*\d)[\])]:?[ ]?
    | [Rr]ank(?::[ ]|=)?(?P<plainly>\d+)(?::|,|[ ]\||(?<==\d)|(?<==\d\d))[ ](?=\S)
    | \[\d{4}-\d\d-\d\d[ T][\d:.,]{8,15}\](?:[ ]?\[\w[\w.:-]*\]){0,3}?[ ]?
      \[[Rr]ank[ :=]?(?P<logged>\d+)\](?:[ ]?\[\w+\])?[ ]?(?:-[ ])?
    | \d{4}-\d\d-\d\d[ T][\d:.,]{8,15}(?:[ ][-|][ ][\w.:]+){0,3}?[ ][-|][ ]
      [Rr]ank[ :=]?(?P<piped>\d+)[ ][-|][ ](?:[\w.:]+[ ][-|][ ])?
    | \[NeMo[ ][A-Z][ ]\d{4}-\d\d-\d\d[ ][\d:]{8}[ ][\w.:]+[ ]rank:(?P<nemo>\d+)\][ ]
    | (?:CRITICAL|ERROR|WARNING|INFO):[\w.]+:(?=\[[Rr]ank)
    )""",
    re.VERBOSE,
)
"""How loggers of trainers write the rank, and the host beside it, and parallel shells an address."""
_ERRORS = ("error", "vllmerror", "glogerror")
"""Levels of loggers, where they tell of an error."""
_OF_RANKED = ("of", "on", "at", "plainly", "logged", "piped", "nemo")
_OF_ACTOR = re.compile(r"^Worker_TP(\d+)(?:_EP\d+)?$|\brank=(\d+)$")
"""Actors of vLLM that are named after their rank: of one group of tensor parallelism, its number is the rank."""
_LOGGED_STARTS = frozenset("[(0123456789rRCEWI")
"""What _LOGGED can begin with: the other lines are spared the time."""
_STARTS = frozenset("[(| 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

_TIMES = re.compile(
    r"""(?P<iso>(?P<year>\d{4})[-/](?P<month>\d\d)[-/](?P<day>\d\d)[ T_](?P<clock>\d\d:\d\d:\d\d(?:[.,]\d{1,9})?))
    | \b[EWIF](?P<glog>\d{3,4})[ ](?P<gclock>\d\d:\d\d:\d\d\.\d+)
    | \b(?P<word>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[ ]{1,2}(?P<wday>\d{1,2})[ ]
      (?P<wclock>\d\d:\d\d:\d\d)(?:[ ](?P<wyear>\d{4}))?
    | \b(?P<usmonth>\d\d)/(?P<usday>\d\d)/(?P<usyear>\d{4})[ ](?P<usclock>\d\d:\d\d:\d\d)
    | \b(?:INFO|WARNING|ERROR)[ ](?P<vmonth>\d\d)-(?P<vday>\d\d)[ ](?P<vclock>\d\d:\d\d:\d\d)""",
    re.VERBOSE,
)
_CLOCK = re.compile(r":\d\d:\d\d")
"""The end of a clock: what begins with a fixed letter is found faster than what begins with a digit."""
_WHERE_TIMES_STAND = 160
"""Characters from the beginning of a line in which its time is looked for."""

_HOSTS = (
    "pod",
    "compose",
    "syslog",
    "isolog",
    "beside",
    "behind",
    "colon",
    "clush",
    "letter",
    "bracket",
    "crashed",
)
_WRITERS = (
    *("mpi", "prte", "task", "label", "local", "rank", "plain", "sglang"),
    *("pod", "compose", "actor", "pid", "ip", "skypid", "skyip", "clush", "letter", "bracket", "pdsh"),
    *_OF_RANKED,
)
"""Parts of a label that do not change from line to line, as times do."""


def unlabelled(text: str) -> tuple[str, dict[str, str]]:
    """The message behind the labels, and the parts of these."""
    parts: dict[str, str] = {}
    start = 0
    for _ in range(_DEEPEST):
        if start >= len(text) or text[start] not in _STARTS:
            break
        match = _BEFORE.match(text, start)
        if match is None and text[start] in _LOGGED_STARTS and _may_name(text, start):
            match = _LOGGED.match(text, start)
        if match is None or match.end() == start:
            break
        parts |= {name: value for name, value in match.groupdict().items() if value}
        start = match.end()
    return text[start:], parts


def _may_name(text: str, start: int) -> bool:
    """Whether a rank or an address can stand there."""
    return text.find("ank", start, start + _WHERE_TIMES_STAND) >= 0 or "." in text[start : start + 5]


def line(file: str, number: int, text: str) -> SourceLine:
    message, parts = unlabelled(text)
    rank = parts.get("rank") or parts.get("mpi") or parts.get("prte") or parts.get("sglang")
    if rank is None and (own := _OF_ACTOR.search(parts.get("actor", ""))):
        rank = own[1] or own[2]
    rank = rank or next((parts[name] for name in _OF_RANKED if name in parts), None)
    if rank is None and "plain" in parts:
        rank = parts["plain"].lower().removeprefix("rank").strip()
    task = parts.get("task") or parts.get("label") or parts.get("skytask")
    pid = parts.get("pid") or parts.get("skypid") or parts.get("glogpid")
    return SourceLine(
        file=file,
        number=number,
        text=message,
        label=" ".join(parts[name] for name in _WRITERS if name in parts),
        host=next((parts[name] for name in _HOSTS if name in parts), None),
        rank=whole(rank or ""),
        task=whole(task or ""),
        pid=whole(pid or ""),
        address=parts.get("ip") or parts.get("rayip") or parts.get("skyip") or parts.get("pdsh"),
        time=time_of(text),
        is_error=any(name in parts for name in _ERRORS),
    )


def time_of(text: str) -> str | None:
    """The time that a line names near its beginning, as [YYYY-]MM-DD HH:MM:SS[.fraction]; None = none."""
    if not _CLOCK.search(text, 0, _WHERE_TIMES_STAND):
        return None
    match = _TIMES.search(text, 0, _WHERE_TIMES_STAND)
    if match is None:
        return None
    part = match.groupdict()
    if part["iso"]:
        return f"{part['year']}-{part['month']}-{part['day']} {part['clock'].replace(',', '.')}"
    if part["glog"]:
        return f"{int(part['glog'][:-2]):02}-{part['glog'][-2:]} {part['gclock']}"
    if part["word"]:
        year = f"{part['wyear']}-" if part["wyear"] else ""
        return f"{year}{_MONTHS[part['word']]}-{int(part['wday']):02} {part['wclock']}"
    if part["usclock"]:
        return f"{part['usyear']}-{part['usmonth']}-{part['usday']} {part['usclock']}"
    return f"{part['vmonth']}-{part['vday']} {part['vclock']}"
