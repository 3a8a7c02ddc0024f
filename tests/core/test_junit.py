"""JUnit XML out of its pieces; what it is made into is tried against the schema of Jenkins in tests/preflight."""

from nccltool.core import junit


def test_a_document() -> None:
    failure = junit.element("failure", {"message": 'a "b"'}, "1 < 2")
    inside = [*junit.case("net", "passes", ()), *junit.case("net", "fails", (failure,))]
    counted = {"name": "net", **junit.counts(["failure", "skipped", "failure"])}
    assert junit.document({"name": "doctor"}, junit.suite(counted, inside)).splitlines() == [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<testsuites name="doctor">',
        '<testsuite name="net" tests="3" failures="2" errors="0">',
        '<testcase classname="net" name="passes"/>',
        '<testcase classname="net" name="fails">',
        "<failure message='a \"b\"'>1 &lt; 2</failure>",
        "</testcase>",
        "</testsuite>",
        "</testsuites>",
    ]
    assert junit.element("skipped", {"message": "\x1b"}) == '<skipped message="\\x1b"/>'
