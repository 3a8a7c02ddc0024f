"""A localization as JUnit XML, for what shows the results of tests."""

from nccltool.core import junit
from nccltool.localize.localized import LocalizedRun
from nccltool.localize.suite import suite


def render(run: LocalizedRun) -> str:
    return junit.report(run.kind, [suite(run)])
