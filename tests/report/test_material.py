"""The newest run is the one whose details are shown."""

from tests.report import materials


def test_the_newest_is_the_last() -> None:
    assert materials.compared().newest.info.id == "20250103T030405Z-beef"
