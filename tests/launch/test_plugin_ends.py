"""What is said of a plug-in that failed: it is named, and no rank or host is suspected."""

import pytest

from nccltool.core import verdicts
from nccltool.core.findings import Finding
from nccltool.launch import plugin_ends

SAID = "plug-in far (collectives of acme 1.0) failed: ValueError: x"


@pytest.mark.parametrize(
    ("finding", "message"),
    [
        (plugin_ends.not_measured("far", SAID), f"far was not measured: {SAID}"),
        (
            plugin_ends.ended(SAID, "rank 1 on n1 in far at 1 KiB", ("rank 0 waited",)),
            f"{SAID}. Seen on rank 1 on n1 in far at 1 KiB; the other ranks waited for it",
        ),
    ],
)
def test_the_plug_in_is_named_and_nobody_is_suspected(finding: Finding, message: str) -> None:
    assert finding.message == message
    assert finding.suspect is None
    assert verdicts.of_findings([finding]).exit_code == 3
