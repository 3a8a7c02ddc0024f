"""The document of the contract."""

from nccltool.probe.document import to_json
from nccltool.probe.result import Run


def render(run: Run) -> str:
    return to_json(run) + "\n"
