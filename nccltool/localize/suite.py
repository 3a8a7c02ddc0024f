"""A localization as test cases: its verdict, a case for each node, and its other findings."""

from collections.abc import Iterator

from nccltool.core import junit
from nccltool.core.junit import JunitCase, JunitSuite
from nccltool.localize.headline import headline, noise_line, unseen_line
from nccltool.localize.localized import LocalizedRun


def suite(run: LocalizedRun) -> JunitSuite:
    """What JUnit and CTRF are made of."""
    return JunitSuite(
        command=run.kind,
        info=run.info,
        verdict=run.verdict,
        headline=headline(run),
        text="; ".join(filter(None, (noise_line(run), unseen_line(run)))),
        cases=tuple(_cases(run)),
    )


def _cases(run: LocalizedRun) -> Iterator[JunitCase]:
    """Nodes have the same names in every run, so that one can be followed over time."""
    found = run.localization
    doubtful = {name for members in found.undetermined for name in members}
    known = {name for one in run.encounters if one.busbw_bytes_per_s is not None for name in one.members}
    for node in sorted({name for one in run.encounters for name in one.members}):
        own = [
            one for one in run.findings if one.suspect and one.suspect.kind == "host" and one.suspect.name == node
        ]
        if own:
            yield junit.case_of(node, own, "nodes")
        elif node in doubtful:
            yield JunitCase(
                name=node, group="nodes", kind="skipped", message="in a slow pair that nothing explains"
            )
        elif node not in known:
            yield JunitCase(name=node, group="nodes", kind="skipped", message="no result with this node")
        else:
            yield JunitCase(name=node, group="nodes")
    yield from junit.of_findings(one for one in run.findings if not (one.suspect and one.suspect.kind == "host"))
