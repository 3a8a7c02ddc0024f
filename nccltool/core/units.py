"""Numbers and their units: the only place that parses and formats them.

Bytes are binary (1 MiB = 2**20 bytes), bandwidth is decimal (1 GB/s = 10**9 bytes per second): the
convention of nccl-tests, whose sizes are powers of two and whose GB/s are powers of ten.
"""

import re
import time
from collections.abc import Mapping
from datetime import UTC, date, datetime

from nccltool.core.errors import BadInput
from nccltool.core.text import shortened

_BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
MAX_BYTES = 2**50
"""More is a slip of the finger; up to here a float holds every byte exactly."""
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE)

SECONDS: Mapping[str, float] = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "min": 60.0, "m": 60.0, "h": 3600.0}
_QUANTITY = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([A-Za-z%/]+)", re.ASCII)


def parse_quantity(text: str, units: Mapping[str, float]) -> float | None:
    """A number with one of these units, in the base unit; None = it is none."""
    match = _QUANTITY.fullmatch(text.strip())
    return float(match[1]) * units[match[2]] if match and match[2] in units else None


def parse_duration(text: str, option: str) -> float:
    """Seconds of `60s`, `2 min`, `500ms`. Raises BadInput that names the option."""
    seconds = parse_quantity(text, SECONDS)
    if seconds is None:
        raise BadInput(f"{option} {shortened(text, 60)!r} is not a duration", f"{option} 60s or 2min")
    return seconds


RATES: Mapping[str, float] = {
    **{
        f"{word}B{per}": factor
        for word, factor in (("", 1.0), ("K", 1e3), ("M", 1e6), ("G", 1e9), ("T", 1e12))
        for per in ("/s", "ps")
    },
    **{
        f"{word}iB{per}": factor
        for word, factor in (("K", 2.0**10), ("M", 2.0**20), ("G", 2.0**30))
        for per in ("/s", "ps")
    },
    **{
        f"{word}b{it}{per}": factor / 8
        for word, factor in (("M", 1e6), ("G", 1e9), ("T", 1e12))
        for it in ("", "it")
        for per in ("/s", "ps")
    },
}
"""Bytes per second of units; a small b is a bit."""


def parse_rate(text: str, option: str) -> float:
    """Bytes per second of `370GB/s`, `400Gb/s`. Raises BadInput that names the option."""
    rate = parse_quantity(text, RATES)
    if not rate:
        raise BadInput(f"{option} {shortened(text, 60)!r} is not a bandwidth", f"{option} 370GB/s or 400Gb/s")
    return rate


_AGES: Mapping[str, float] = {"min": 60.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def parse_age(text: str, option: str) -> float:
    """Seconds of `12h`, `30d`, `2w`. Raises BadInput that names the option."""
    seconds = parse_quantity(text, _AGES)
    if seconds is None:
        raise BadInput(f"{option} {shortened(text, 60)!r} is not a time", f"{option} 12h or 30d")
    return seconds


def parse_since(text: str, option: str) -> float:
    """The Unix time of a date (2026-01-31) or of an age before now. Raises BadInput that names the option."""
    try:
        return datetime.combine(date.fromisoformat(text), datetime.min.time(), UTC).timestamp()
    except ValueError:
        pass
    try:
        moment = time.time() - parse_age(text, option)
        datetime.fromtimestamp(moment, UTC)
    except BadInput as error:
        raise BadInput(error.message, f"{option} 12h, or 30d, or a date such as 2026-01-31") from error
    except (ValueError, OverflowError, OSError) as error:
        raise BadInput(f"{option} {shortened(text, 60)} is too long ago", f"for example {option} 30d") from error
    return moment


def parse_bytes(text: str) -> int:
    """Bytes in `text`: 8, 1K, 1KiB, 1.5MiB, 64MB (all binary, as in nccl-tests).

    Raises BadInput when the text is not a size or not a whole number of bytes.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise BadInput(f"{text!r} is not a size", "write bytes with an optional unit: 8, 64K, 1MiB, 2G")
    size = float(match[1]) * _BINARY[match[2].upper()]
    if size > MAX_BYTES:
        raise BadInput(f"{text[:20]!r} is too large", f"at most {format_bytes(MAX_BYTES)}")
    if size != int(size):
        raise BadInput(f"{text!r} is not a whole number of bytes", "use a smaller unit")
    return int(size)


def format_bytes(size: int) -> str:
    """`size` in the largest binary unit that keeps it exact to one decimal: 1 KiB, 1.5 MiB, 1000 B."""
    for unit, factor in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= factor and size * 10 % factor == 0:
            return f"{size / factor:.1f} {unit}".replace(".0 ", " ")
    return f"{size} B"


def format_mib(size: int) -> str:
    """A size that was measured, to the MiB."""
    return f"{size / 2**20:.0f} MiB"


def format_decimal_bytes(size: int) -> str:
    """Of memory, so that a size of 8 GiB is seen to need more than a GPU with 8 GB."""
    return f"{size / 1e9:.1f} GB" if size >= 10**8 else f"{size / 1e6:.1f} MB"


def format_seconds(seconds: float) -> str:
    """A duration to three digits in the unit that suits it: 12.3 us, 4.56 ms, 7.89 s."""
    for unit, factor in (("us", 1e-6), ("ms", 1e-3)):
        text = _three_digits(seconds / factor)
        if float(text) < 1000:
            return f"{text} {unit}"
    return f"{_three_digits(seconds)} s"


def _three_digits(number: float) -> str:
    return f"{number:.3g}" if number < 999.5 else f"{number:.0f}"


def format_gb_per_s(bytes_per_s: float) -> str:
    """Bandwidth in GB/s (10**9), with three significant digits at least."""
    rate = bytes_per_s / 1e9
    if rate >= 100:
        return f"{rate:.1f}"
    return f"{rate:.2f}" if rate >= 1 else f"{rate:#.3g}"
