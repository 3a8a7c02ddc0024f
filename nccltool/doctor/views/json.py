"""The document of the contract."""

from nccltool.doctor import document
from nccltool.doctor.diagnosis import Diagnosis


def render(diagnosis: Diagnosis) -> str:
    """One line of JSON."""
    return f"{document.diagnosis_to_json(diagnosis)}\n"
