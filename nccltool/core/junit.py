"""JUnit XML, as the schema of Jenkins has it; attributes stand in the order in which they are given."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from xml.sax.saxutils import escape, quoteattr

from nccltool.core.text import escaped


def document(attributes: Mapping[str, str], suites: Iterable[str]) -> str:
    """One document, with a newline at its end. Of the root the schema allows no number of skipped ones."""
    head = ['<?xml version="1.0" encoding="UTF-8"?>', f"<{_opened('testsuites', attributes)}>"]
    return "\n".join([*head, *suites, "</testsuites>"]) + "\n"


def suite(attributes: Mapping[str, str], inside: Iterable[str]) -> Iterator[str]:
    yield f"<{_opened('testsuite', attributes)}>"
    yield from inside
    yield "</testsuite>"


def case(classname: str, name: str, inside: Sequence[str]) -> Iterator[str]:
    """The lines of a test; with nothing inside, it passes."""
    head = _opened("testcase", {"classname": classname, "name": name})
    yield f"<{head}>" if inside else f"<{head}/>"
    yield from (*inside, "</testcase>") if inside else ()


def element(tag: str, attributes: Mapping[str, str], text: str | None = None) -> str:
    """An element with a text; nothing in that may act on a terminal."""
    inside = "/>" if text is None else f">{escape(text)}</{tag}>"
    return f"<{_opened(tag, attributes)}{inside}"


def counts(kinds: Sequence[str]) -> dict[str, str]:
    """How many tests there are, and how many of them did not pass; `kinds` are elements in them."""
    return {"tests": str(len(kinds)), **{f"{kind}s": str(kinds.count(kind)) for kind in ("failure", "error")}}


def _opened(tag: str, attributes: Mapping[str, str]) -> str:
    return " ".join([tag, *(f"{name}={quoteattr(escaped(value))}" for name, value in attributes.items())])
