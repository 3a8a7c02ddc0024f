"""The JSON Schemas of documents, as the package ships them: one file a kind in nccltool/schemas."""

from pathlib import Path

from nccltool.core.unknown_names import unknown

_FOLDER = Path(__file__).parents[1] / "schemas"


def names() -> tuple[str, ...]:
    """The kinds of documents that have a schema."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.json")))


def text(kind: str) -> str:
    """The schema of a kind, with a newline at its end. Raises BadInput that names what is like it."""
    if kind not in names():
        raise unknown("kind of document", kind, names(), "nccltool schema lists them")
    return file(kind).read_text(encoding="utf-8")


def file(kind: str) -> Path:
    return _FOLDER / f"{kind}.json"
