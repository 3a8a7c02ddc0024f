"""The document of the contract."""

from nccltool.preflight import document
from nccltool.preflight.result import Preflight


def render(preflight: Preflight) -> str:
    return f"{document.to_json(preflight)}\n"
