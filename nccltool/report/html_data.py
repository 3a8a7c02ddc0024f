"""The documents of the runs inside an HTML report: written there, and read back."""

import base64
import binascii
import gzip
import json
import re
import zlib
from collections.abc import Iterator, Sequence

from nccltool.core.errors import BadInput
from nccltool.core.user_files import LARGEST
from nccltool.report.matrix import as_json
from nccltool.report.parts import RawDocument

_MOST_PLAIN = 256 << 10
"""Bytes of a document that stays text; a larger one is packed."""
_BEGIN = '<script type="application/json" id="nccltool-runs">'
_END = "</script>"
_BLOCK = re.compile(re.escape(_BEGIN.encode()) + rb"(.*?)" + re.escape(_END.encode()), re.DOTALL)
_REMEDY = "pass a file that nccltool report --format html wrote"


def block(documents: Sequence[RawDocument]) -> str:
    """The element with all of them."""
    return f"{_BEGIN}{as_json([_entry(one) for one in documents])}{_END}"


def _entry(one: RawDocument) -> dict[str, object]:
    if len(one.json) <= _MOST_PLAIN:
        return {"name": one.name, "document": json.loads(one.json)}
    packed = gzip.compress(json.dumps(json.loads(one.json), separators=(",", ":")).encode(), mtime=0)
    return {"name": one.name, "gzip": base64.b64encode(packed).decode()}


def is_report(data: bytes) -> bool:
    return _BEGIN.encode() in data


def documents(data: bytes, where: str) -> Iterator[RawDocument]:
    """Those inside a report. Raises BadInput that names `where`."""
    try:
        (found,) = _BLOCK.findall(data)
        entries = json.loads(found)
        for entry in entries:
            text = _unpacked(entry["gzip"]) if "gzip" in entry else json.dumps(entry["document"]).encode()
            yield RawDocument(name=str(entry["name"]), json=text)
    except (
        ValueError,
        KeyError,
        TypeError,
        OSError,
        EOFError,
        zlib.error,
        RecursionError,
        binascii.Error,
    ) as error:
        raise BadInput(f"{where} is a damaged report: its raw data cannot be read", _REMEDY) from error


def _unpacked(text: str) -> bytes:
    """No more than a document may have: packed data can claim to be endless."""
    unpacker = zlib.decompressobj(wbits=31)
    data = unpacker.decompress(base64.b64decode(text, validate=True), LARGEST)
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise ValueError("too large, or cut")
    return data
