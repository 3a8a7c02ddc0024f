"""LOOK at results of other tools: what nccl-tests and rccl-tests print and write, read strictly.

A file that is cut, a column that is not known and a row that cannot be read are refused: numbers that were
guessed cannot be told from numbers that were measured.
"""

import json
import re

import nccltool.interop.importers.nccl_json as nccl_json
import nccltool.interop.importers.rccl_json as rccl_json
import nccltool.interop.importers.text as text
from nccltool.core import packed
from nccltool.core.errors import BadInput
from nccltool.interop.importers.base import Half, Report, Row, Told, refuse

__all__ = ["Half", "Report", "Row", "Told", "read"]

_JSON = re.compile(r"\s*(\{|\[\s*[\[{\]])")
"""A text can begin with a bracket too: mpirun --tag-output writes [1,0]<stdout>: before each line."""


def read(data: bytes, where: str, told: Told) -> tuple[Report, ...]:
    """The tests in a file. Raises BadInput that names the file, the place, and what was expected there."""
    if what := packed.kind(data):
        raise BadInput(f"{where} is packed with {what}", "unpack it; nothing was imported")
    content = data.decode("utf-8-sig", errors="replace")
    if not content.strip():
        refuse(where, "it is empty; expected output of nccl-tests")
    if not _JSON.match(content):
        return text.read(content, where, told)
    whole = _decoded(content, where)
    parts = whole if isinstance(whole, list) else [whole]
    if any(isinstance(part, dict) and "results" in part for part in parts):
        places = [where] if whole is not parts else [f"{where}, [{index}]" for index in range(len(parts))]
        return tuple(nccl_json.read(part, place, told) for part, place in zip(parts, places, strict=True))
    return rccl_json.read(whole, where, told)


def _decoded(content: str, where: str) -> object:
    try:
        return json.loads(content, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        refuse(f"{where}, line {error.lineno}", f"broken JSON: {error.msg} at column {error.colno}")
    except (ValueError, RecursionError) as error:
        refuse(where, f"broken JSON: {error}")


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is not a number in JSON")
