"""Numbers and units: both directions agree, and nothing is printed that is not three digits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.errors import BadInput
from nccltool.core.units import format_bytes, format_gb_per_s, format_seconds, parse_bytes, parse_duration


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8", 8),
        ("0", 0),
        ("8B", 8),
        ("1K", 1024),
        ("1k", 1024),
        ("1KB", 1024),
        ("1KiB", 1024),
        ("1 kib", 1024),
        (" 64M ", 64 * 2**20),
        ("64MB", 64 * 2**20),
        ("1.5MiB", 3 * 2**19),
        ("0.5K", 512),
        ("2G", 2 * 2**30),
        ("1TiB", 2**40),
        ("1000", 1000),
        ("999999999999999", 999999999999999),
    ],
)
def test_sizes_are_binary(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' is not a size"),
        ("banana", "'banana' is not a size"),
        ("-1", "'-1' is not a size"),
        ("1KX", "'1KX' is not a size"),
        ("1i", "'1i' is not a size"),
        ("1 K B", "'1 K B' is not a size"),
        (".5K", "'.5K' is not a size"),
        ("1,5K", "'1,5K' is not a size"),
        ("0x10", "'0x10' is not a size"),
        ("1e6", "'1e6' is not a size"),
        ("nan", "'nan' is not a size"),
        ("9" * 400, f"'{'9' * 400}' is not a size"),
        ("1.5", "'1.5' is not a whole number of bytes"),
        ("0.1K", "'0.1K' is not a whole number of bytes"),
    ],
)
def test_what_is_not_a_size_is_named(text: str, message: str) -> None:
    with pytest.raises(BadInput) as error:
        parse_bytes(text)
    assert error.value.message == message
    assert error.value.remedy


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (8, "8 B"),
        (1000, "1000 B"),
        (1024, "1 KiB"),
        (1536, "1.5 KiB"),
        (1025, "1025 B"),
        (2**20, "1 MiB"),
        (2**20 + 2**10, "1025 KiB"),
        (3 * 2**19, "1.5 MiB"),
        (2**30, "1 GiB"),
        (2**40, "1 TiB"),
    ],
)
def test_the_largest_exact_unit_is_shown(size: int, text: str) -> None:
    assert format_bytes(size) == text


@given(st.integers(0, 2**49) | st.integers(0, 2**20).map(lambda halves: halves * 2**29))
def test_every_size_survives_being_shown(size: int) -> None:
    assert parse_bytes(format_bytes(size)) == size


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 us"),
        (1e-8, "0.01 us"),
        (12.345e-6, "12.3 us"),
        (999.4e-6, "999 us"),
        (999.7e-6, "1 ms"),
        (1e-3, "1 ms"),
        (4.56e-3, "4.56 ms"),
        (0.9997, "1 s"),
        (1.0, "1 s"),
        (7.891, "7.89 s"),
        (999.7, "1000 s"),
        (3600.0, "3600 s"),
    ],
)
def test_durations_have_three_digits(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@given(st.floats(1e-7, 1e6))
def test_a_shown_duration_is_the_duration(seconds: float) -> None:
    number, unit = format_seconds(seconds).split()
    assert float(number) * {"us": 1e-6, "ms": 1e-3, "s": 1.0}[unit] == pytest.approx(seconds, rel=0.006)
    assert "e" not in number


@pytest.mark.parametrize(
    ("rate", "text"),
    [
        (0.0, "0.00"),
        (8e4, "8.00e-05"),
        (0.5e9, "0.500"),
        (0.012345e9, "0.0123"),
        (0.9999e9, "1.00"),
        (1e9, "1.00"),
        (46.789e9, "46.79"),
        (480.04e9, "480.0"),
        (1234.5e9, "1234.5"),
    ],
)
def test_bandwidth_is_decimal_with_three_digits_at_least(rate: float, text: str) -> None:
    assert format_gb_per_s(rate) == text


@given(st.floats(1, 1e13))
def test_a_shown_bandwidth_is_the_bandwidth(rate: float) -> None:
    assert float(format_gb_per_s(rate)) * 1e9 == pytest.approx(rate, rel=0.006)


@pytest.mark.parametrize(
    ("text", "seconds"), [("60s", 60.0), ("2 min", 120.0), ("500ms", 0.5), ("1.5 s", 1.5), ("2h", 7200.0)]
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text, "--budget") == seconds


@pytest.mark.parametrize("text", ["60", "s", "-1s", "1d", "1e3s", ""])
def test_words_that_are_no_duration(text: str) -> None:
    with pytest.raises(BadInput, match="--budget"):
        parse_duration(text, "--budget")
