"""Element types: sizes and exactness hold against struct and against floating-point arithmetic itself."""

import struct
from collections.abc import Sequence
from fractions import Fraction

import pytest

from nccltool.probe import dtypes
from nccltool.probe.collectives import NAMES

_STRUCT = {
    "float64": "d",
    "float32": "f",
    "float16": "e",
    "int64": "q",
    "int32": "i",
    "int8": "b",
    "uint8": "B",
}

_WITHOUT_STRUCT = {"bfloat16": (8, 8), "float8_e4m3fn": (4, 4), "float8_e5m2": (5, 3)}
"""(bits of the exponent, bits of the significand with the leading one that is not stored), beside a sign."""


def _round_trip(dtype: str, value: int) -> int:
    """`value` after being stored in the type."""
    if dtype in _WITHOUT_STRUCT:
        spacing = 1 << max(value.bit_length() - _WITHOUT_STRUCT[dtype][1], 0)
        return round(Fraction(value, spacing)) * spacing  # to the even one of two neighbours
    code = _STRUCT[dtype]
    (stored,) = struct.unpack(f"<{code}", struct.pack(f"<{code}", value))
    return int(stored)


@pytest.mark.parametrize("dtype", dtypes.ELEMENT_SIZE)
def test_element_sizes(dtype: str) -> None:
    if dtype in _WITHOUT_STRUCT:
        exponent, significand = _WITHOUT_STRUCT[dtype]
        bits = 1 + exponent + significand - 1
        assert dtypes.ELEMENT_SIZE[dtype] * 8 == bits
    else:
        assert dtypes.ELEMENT_SIZE[dtype] == struct.calcsize(f"<{_STRUCT[dtype]}")


@pytest.mark.parametrize("dtype", dtypes.ELEMENT_SIZE)
def test_the_largest_exact_integer_is_exact_and_the_next_is_not(dtype: str) -> None:
    largest = dtypes.largest_exact(dtype)
    assert _round_trip(dtype, largest) == largest
    if dtypes.is_float(dtype):
        assert _round_trip(dtype, largest + 1) != largest + 1
    else:
        with pytest.raises(struct.error):
            _round_trip(dtype, largest + 1)


@pytest.mark.parametrize("dtype", dtypes.ELEMENT_SIZE)
def test_floats_are_floats(dtype: str) -> None:
    assert dtypes.is_float(dtype) == ("float" in dtype)


@pytest.mark.parametrize(("alias", "name"), dtypes.ALIASES.items())
def test_aliases_lead_to_types(alias: str, name: str) -> None:
    assert name in dtypes.ELEMENT_SIZE
    assert alias not in dtypes.ELEMENT_SIZE


@pytest.mark.parametrize(
    ("backend", "dtype", "reduce_op", "ops", "reason"),
    [
        ("gloo", "int32", "avg", NAMES, "gloo cannot average int32: use -o sum or a floating-point type"),
        ("gloo", "uint8", "avg", NAMES, "gloo cannot average uint8: use -o sum or a floating-point type"),
        ("gloo", "float32", "avg", NAMES, None),
        ("gloo", "bfloat16", "avg", NAMES, None),
        ("gloo", "int32", "sum", NAMES, None),
        ("nccl", "int32", "avg", NAMES, None),
        (
            "gloo",
            "float8_e5m2",
            "sum",
            ("send_recv", "broadcast", "all_gather"),
            "gloo cannot run broadcast on float8_e5m2: use --op send_recv,ping_pong",
        ),
        ("gloo", "float8_e5m2", "avg", ("send_recv", "ping_pong"), None),
        ("nccl", "float8_e4m3fn", "sum", ("all_gather", "broadcast", "all_to_all"), None),
        (
            "nccl",
            "float8_e4m3fn",
            "sum",
            ("all_gather", "all_reduce"),
            "nccl cannot run all_reduce on float8_e4m3fn: "
            "use --op all_gather,broadcast,gather,scatter,all_to_all,all_to_all_v,send_recv,ping_pong",
        ),
    ],
)
def test_what_a_backend_cannot_run(
    backend: str, dtype: str, reduce_op: str, ops: Sequence[str], reason: str | None
) -> None:
    assert dtypes.why_not(backend, dtype, reduce_op, ops) == reason
