"""A localization in the Common Test Report Format."""

from nccltool.core import ctrf
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.suite import suite


def render(run: LocalizedRun) -> str:
    return ctrf.report(run.kind, [suite(run)])
