"""JUnit XML as the schema of Jenkins has it, and what is in its cases."""

from functools import cache
from pathlib import Path
from xml.etree import ElementTree as ET

import xmlschema

SCHEMA = Path(__file__).parents[1] / "data/schemas/junit-10.xsd"


@cache
def _schema() -> xmlschema.XMLSchema:
    return xmlschema.XMLSchema(SCHEMA)


def valid(text: str) -> dict[str, list[str]]:
    """The elements in each case, by `classname name`; the counts of the document and of its suites are theirs."""
    _schema().validate(text)
    root = ET.fromstring(text)
    for element in (root, *root.iter("testsuite")):
        cases = list(element.iter("testcase"))
        assert element.get("tests") == str(len(cases))
        for kind in ("failure", "error"):
            assert element.get(f"{kind}s") == str(sum(case.find(kind) is not None for case in cases))
    return {
        f"{one.get('classname')} {one.get('name')}": [child.tag for child in one] for one in root.iter("testcase")
    }


def is_green(text: str) -> bool:
    """Whether a build passes with it."""
    return {"failure", "error"}.isdisjoint(tag for tags in valid(text).values() for tag in tags)
