"""What --expect says."""

from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.localize import document, expectation
from nccltool.localize.accusations import localized
from tests.support.pairs import FOUND_106, OF_106, info, localization


@pytest.mark.parametrize(
    ("text", "expected"),
    [("370GB/s", 370e9), ("400 Gb/s", 50e9), ("400Gbit/s", 50e9), ("1GiB/s", 2.0**30), ("900MB/s", 9e8)],
)
def test_bandwidths(text: str, expected: float) -> None:
    assert expectation.of(text, Path("/nowhere")) == expected


@pytest.mark.parametrize(
    "text", ["370", "0GB/s", "370 parsecs", "fast", "nan GB/s", "-3GB/s", "infGB/s", "50 gb/s", "nix.json"]
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        expectation.of(text, Path("/nowhere"))
    assert text in caught.value.message


def test_what_is_empty_or_no_run(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="--expect is empty"):
        expectation.of(" ", tmp_path)
    file = tmp_path / "pairs.csv"
    file.write_text("a,b,50\n")
    with pytest.raises(BadInput, match=r"^--expect .*is not a localization") as caught:
        expectation.of(str(file), tmp_path)
    assert "--expect 370GB/s" in caught.value.remedy


@pytest.mark.parametrize("text", ["-5GB/s", "nanGB/s", "infGB/s", "50 gb/s", "1e400GB/s"])
def test_what_looks_like_a_rate_is_no_run(text: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        expectation.of(text, tmp_path)
    assert "run" not in caught.value.message


def test_a_run(tmp_path: Path) -> None:
    run = tmp_path / "run.json"
    run.write_text(document.to_json(localized(info(), OF_106, FOUND_106)))
    assert expectation.of(str(run), tmp_path) == 87.6e9
    run.write_text(document.to_json(localized(info(), OF_106, localization(healthy_busbw_bytes_per_s=None))))
    with pytest.raises(BadInput, match="healthy speed of this run is unknown"):
        expectation.of(str(run), tmp_path)
