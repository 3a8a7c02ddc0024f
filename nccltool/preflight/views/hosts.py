"""A preflight for logs: a line for each host, of words with values (logfmt)."""

import json
import re

from nccltool.core.text import escaped
from nccltool.preflight.result import HostVerdict, Preflight

_PLAIN = re.compile(r"[\w./:@,+\[\]-]+", re.ASCII)


def render(preflight: Preflight) -> str:
    return "".join(f"{_line(preflight, one)}\n" for one in preflight.hosts)


def _line(preflight: Preflight, one: HostVerdict) -> str:
    told = {
        "time": preflight.info.started,
        "suite": preflight.suite,
        "run": preflight.info.id,
        "host": one.host,
        "status": one.status,
        "exclude": "yes" if one.exclude else "no",
        "reason": one.reason,
    }
    return " ".join(["nccltool", *(f"{name}={_value(value)}" for name, value in told.items())])


def _value(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else json.dumps(escaped(text), ensure_ascii=False)
