"""A localization as the document that other programs read."""

from nccltool.localize import document
from nccltool.localize.localized import LocalizedRun


def render(run: LocalizedRun) -> str:
    return document.to_json(run) + "\n"
