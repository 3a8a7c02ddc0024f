"""An incident as JUnit XML, for what shows the results of tests: the job is the one test case."""

from nccltool.core import junit
from nccltool.core.junit import JunitSuite
from nccltool.triage.incident import Incident


def render(incident: Incident, headline: str, text: str) -> str:
    """`text`: what people read of it, whose first line is the headline."""
    suite = JunitSuite(
        command="triage",
        info=incident.info,
        verdict=incident.verdict,
        headline=headline,
        text=text.partition("\n")[2].strip("\n"),
    )
    return junit.report("triage", [suite])
