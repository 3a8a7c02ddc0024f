"""Element types and reduce operations: sizes, and what each backend can do."""

from collections.abc import Iterable

from nccltool.probe.collectives import NAMES, get, without_skew

_TYPES = {
    "float64": (8, 2**53),
    "float32": (4, 2**24),
    "float16": (2, 2**11),
    "bfloat16": (2, 2**8),
    "int64": (8, 2**63 - 1),
    "int32": (4, 2**31 - 1),
    "int8": (1, 127),
    "uint8": (1, 255),
    "float8_e4m3fn": (1, 2**4),
    "float8_e5m2": (1, 2**3),
}
"""(bytes, the integer up to which all are exact): of floating types 2 ** significand bits of IEEE 754, bfloat16
and OCP FP8. Gloo and NCCL take all of these but float8 everywhere (torch 2.13; other integers raise)."""
ELEMENT_SIZE = {name: size for name, (size, _) in _TYPES.items()}

ALIASES = {
    "double": "float64",
    "fp64": "float64",
    "f64": "float64",
    "float": "float32",
    "fp32": "float32",
    "f32": "float32",
    "half": "float16",
    "fp16": "float16",
    "f16": "float16",
    "bf16": "bfloat16",
    "long": "int64",
    "i64": "int64",
    "int": "int32",
    "i32": "int32",
    "i8": "int8",
    "u8": "uint8",
    "f8e4m3": "float8_e4m3fn",
    "fp8_e4m3": "float8_e4m3fn",
    "float8_e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "fp8_e5m2": "float8_e5m2",
}
"""Other spellings, of nccl-tests (float, double, half, f8e4m3, ...) and of frameworks; documents have the name."""

REDUCE_OPS = ("sum", "prod", "min", "max", "avg")
_REDUCTIONS = {"mean": "avg", "average": "avg", "product": "prod", "mul": "prod", "add": "sum"}


def canonical(word: str) -> str:
    """The name of a type that is spelt in another way; other words stay as they are."""
    spelt = word.strip().lower().removeprefix("torch.")
    found = ALIASES.get(spelt, spelt)
    return found if found in ELEMENT_SIZE else word


def reduction(word: str) -> str:
    """The same of a reduction."""
    spelt = word.strip().lower()
    found = _REDUCTIONS.get(spelt, spelt)
    return found if found in REDUCE_OPS else word


def is_float(dtype: str) -> bool:
    """Whether `dtype` is a floating type."""
    return "float" in dtype


def largest_exact(dtype: str) -> int:
    """The largest integer up to which every integer is exact in `dtype`."""
    return _TYPES[dtype][1]


def why_not(backend: str, dtype: str, reduce_op: str, ops: Iterable[str]) -> str | None:
    """Why `backend` cannot run these operations on this type, or None when it can."""
    if backend == "gloo" and reduce_op == "avg" and not is_float(dtype):
        return f"gloo cannot average {dtype}: use -o sum or a floating-point type"
    if not dtype.startswith("float8"):
        return None
    traits = {op: get(op) for op in NAMES}
    possible = [
        op for op in NAMES if (traits[op].is_point_to_point if backend == "gloo" else not traits[op].reduces)
    ]
    impossible = [op for op in ops if without_skew(op) not in possible]
    if impossible:
        return f"{backend} cannot run {impossible[0]} on {dtype}: use --op {','.join(possible)}"
    return None
