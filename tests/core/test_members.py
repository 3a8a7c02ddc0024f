"""A folder's members, by the names that users write."""

from pathlib import Path

import pytest

from nccltool.core import members
from nccltool.doctor import views as of_doctor
from nccltool.preflight import views as of_preflight
from nccltool.probe import views as of_probe
from nccltool.train import views as of_train


def test_names(tmp_path: Path) -> None:
    for name in ("__init__", "base", "nccl_tests", "json", "table", "a"):
        (tmp_path / f"{name}.py").touch()
    assert members.names([str(tmp_path)], first=("table", "json", "gone")) == ("table", "json", "a", "nccl-tests")


@pytest.mark.parametrize(
    ("formats", "expected"),
    [
        (of_doctor.FORMATS, "table json sarif junit ctrf nagios"),
        (of_preflight.FORMATS, "table json junit ctrf nagios hosts csv sarif"),
        (of_probe.FORMATS, "table json csv nccl-tests nccl-tests-json junit ctrf nagios sarif"),
        (of_train.FORMATS, "table json junit csv ctrf nagios sarif"),
    ],
)
def test_formats(formats: tuple[str, ...], expected: str) -> None:
    """In the order in which --help has them."""
    assert formats == tuple(expected.split())
