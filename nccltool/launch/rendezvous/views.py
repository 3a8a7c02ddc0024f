"""Which forms of rendezvous work on this host, as a table, and why the others do not."""

from collections.abc import Sequence

from nccltool.core.look import Look
from nccltool.core.text import counted, escaped
from nccltool.core.units import format_seconds
from nccltool.launch.rendezvous.trial import Form, Trial

_NAMES: dict[Form, str] = {"env": "env://", "tcp": "tcp://", "file": "file://", "spawn": "mp.spawn"}


def render(trials: Sequence[Trial], look: Look) -> str:
    failed = [one for one in trials if one.problem]
    works = f"{len(trials) - len(failed)} of {counted(len(trials), 'form')} work"
    verdict = look.painted("FAIL", "fail") if failed else look.painted("PASS", "pass")
    head = f"{verdict} rendezvous: {works} with {counted(trials[0].ranks, 'rank')} over gloo"
    rows = [
        (
            _NAMES[one.form],
            look.painted("fail", "fail") if one.problem else "works",
            f"{one.ok} of {one.ranks}",
            "?" if one.seconds is None else format_seconds(one.seconds),
            escaped(one.goal),
        )
        for one in trials
    ]
    table = look.table(("form", "result", "right data", "time", "where"), rows)
    why = [line for one in failed for line in _why(one, look)]
    return "\n".join((head, "", table, *why)) + "\n"


def _why(one: Trial, look: Look) -> tuple[str, str]:
    error = look.painted("ERROR", "fail")
    return f"{error} {_NAMES[one.form]} fails: {escaped(one.problem)}", f"    -> {escaped(one.remedy)}"
