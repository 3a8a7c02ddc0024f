"""The document of the contract."""

from nccltool.core import documents
from nccltool.preflight.result import Preflight


def render(preflight: Preflight) -> str:
    """One line of JSON."""
    return f"{documents.preflight_to_json(preflight)}\n"
