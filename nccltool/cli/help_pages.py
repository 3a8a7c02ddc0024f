"""Which page a word asks for: that of a rule, a variable, a root cause or an alert; or what is like it."""

import difflib
import re
from collections.abc import Iterator

from nccltool.core.errors import BadInput
from nccltool.core.text import escaped, shortened
from nccltool.doctor import rules
from nccltool.doctor.diagnosis import RulePage, VariablePage
from nccltool.doctor.rules.base import Rule
from nccltool.hosts.nccl import variables as nccl_variables
from nccltool.hosts.nccl.variables import KnownVariable
from nccltool.monitor import alerts
from nccltool.triage import causes

_SHORTEST = 3
"""Characters of a word to which others are alike."""
_ALERTS = {name.lower(): name for name in alerts.NAMES}


def page_of_variable(entry: KnownVariable) -> VariablePage:
    """The page of a variable, with the rules that are about it."""
    low, high = ("any" if limit is None else str(limit) for limit in (entry.min, entry.max))
    bounded = entry.min is not None or entry.max is not None
    read = {"ghost": "nobody", "reserved": "scripts and images, not NCCL"}.get(entry.status, entry.component)
    about = [rule for rule in rules.every() if _is_about(rule, entry.name)]
    rows = (
        ("read by", read),
        ("type", entry.type),
        ("values", entry.values if entry.values != "-" else ""),
        ("default", entry.default if entry.default != "-" else ""),
        ("range", f"{low} to {high}" if bounded else ""),
        ("since", f"NCCL {entry.since}" if entry.since else ""),
        ("removed", f"in NCCL {entry.removed}" if entry.removed else ""),
        ("use instead", entry.instead or ""),
        ("on all ranks", "the same value" if entry.must_match else ""),
        ("documented", "yes" if entry.documented else "no"),
        ("kind", "for debugging: not to be kept in scripts and files" if entry.debugging else ""),
        ("rules", ", ".join(f"{rule.code} {rule.name}" for rule in about)),
        ("source", entry.source),
    )
    return VariablePage(name=entry.name, summary=entry.summary, rows=rows, note=entry.note)


def _is_about(rule: Rule, variable: str) -> bool:
    page = rule.page
    return bool(re.search(rf"(?<!\w){variable}(?!\w)", " ".join((page.what, page.example, page.instead))))


def find(word: str) -> RulePage | VariablePage | str:
    """The page that a word asks for (text, of causes and alerts). Raises BadInput that names what is like it."""
    rule = rules.find(word.removeprefix("doctor/"))  # as preflight and its metrics name the check
    if rule is not None:
        return rule.page
    entry = nccl_variables.every().get(word.upper().partition("=")[0])
    if entry is not None:
        return page_of_variable(entry)
    written = causes.page(word.lower()) or alerts.page(_ALERTS.get(word.lower(), word))
    if written is not None:
        return written
    of_rules = (name for rule in rules.every() for name in (rule.code, rule.name))
    known = [*of_rules, *causes.LABELS, *alerts.NAMES]
    near = [*nccl_variables.nearest(word[:80]), *difflib.get_close_matches(word[:80], known, n=2)]
    near = near if len(word) >= _SHORTEST else []
    hint = f"was {' or '.join(near[:3])} meant?" if near else "nccltool doctor --list-rules and --list-variables"
    raise BadInput(f"there is no rule, variable, root cause or alert {escaped(shortened(word, 80))!r}", hint)


def variables() -> Iterator[tuple[str, str, str]]:
    """(name, who reads it, what it does) of every variable."""
    for entry in nccl_variables.every().values():
        yield entry.name, "nobody" if entry.status == "ghost" else entry.component, entry.summary
