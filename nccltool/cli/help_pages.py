"""Which page a word asks for: that of a rule, a variable, a root cause or an alert; or what is like it."""

import difflib
import re

from nccltool.core.errors import BadInput
from nccltool.core.text import escaped, shortened
from nccltool.doctor import pages, rules
from nccltool.doctor.rules.base import Rule
from nccltool.hosts.nccl import variables as nccl_variables
from nccltool.monitor import alerts
from nccltool.triage import causes

_SHORTEST = 3
"""Characters of a word to which others are alike."""
_ALERTS = {name.lower(): name for name in alerts.NAMES}


def find(word: str) -> str:
    """The page that a word asks for. Raises BadInput that names what is like it."""
    rule = rules.find(word.removeprefix("doctor/"))  # as preflight and its metrics name the check
    if rule is not None:
        return pages.rule(rule.page)
    entry = nccl_variables.every().get(word.upper().partition("=")[0])
    if entry is not None:
        return pages.variable(entry, [rule.page for rule in rules.every() if _is_about(rule, entry.name)])
    written = causes.page(word.lower()) or alerts.page(_ALERTS.get(word.lower(), word))
    if written is not None:
        return written
    of_rules = (name for rule in rules.every() for name in (rule.code, rule.name))
    known = [*of_rules, *causes.LABELS, *alerts.NAMES]
    near = [*nccl_variables.nearest(word[:80]), *difflib.get_close_matches(word[:80], known, n=2)]
    near = near if len(word) >= _SHORTEST else []
    hint = f"was {' or '.join(near[:3])} meant?" if near else "nccltool doctor --list-rules and --list-variables"
    raise BadInput(f"there is no rule, variable, root cause or alert {escaped(shortened(word, 80))!r}", hint)


def _is_about(rule: Rule, variable: str) -> bool:
    page = rule.page
    return bool(re.search(rf"(?<!\w){variable}(?!\w)", " ".join((page.what, page.example, page.instead))))
