"""Collectives over all nodes; a host that a run names is tested again with another partner."""

from collections.abc import Sequence

from nccltool.preflight import judge
from nccltool.preflight.judge import Ran
from nccltool.preflight.result import Judged
from nccltool.preflight.stages.base import Climbed, Ladder, skipped

NEEDS = ("inventory", "doctor", "reach", "within")
_ONE_NODE = "one node: nothing is between nodes"


def about_s(ladder: Ladder) -> float:
    """How long it takes."""
    part = ladder.suite.across
    return 0.0 if part is None or len(ladder.nodes_left()) < 2 else ladder.probe_s(part)


def would(ladder: Ladder) -> tuple[str, ...]:
    """What it would do."""
    part, nodes = ladder.suite.across, ladder.nodes_left()
    assert part is not None
    return (ladder.call("across", ladder.probe(part), nodes, ladder.nproc).line if len(nodes) > 1 else _ONE_NODE,)


def climb(ladder: Ladder) -> Climbed:
    """Measure, and judge."""
    part, nodes = ladder.suite.across, ladder.nodes_left()
    assert part is not None
    if len(nodes) < 2:
        return skipped("across", _ONE_NODE if len(ladder.hosts) < 2 else "fewer than two hosts are left")
    expect, command = part.expect, ladder.probe(part)

    def judged(ran: Ran) -> Sequence[Judged]:
        names, checked = ladder.names, part.checks > 0
        return tuple(judge.of_probe(ran, expect, names, differences_known=True, checked=checked))

    (ran,) = ladder.start("across", [(ladder.call("across", command, nodes, ladder.nproc), nodes)])
    outcomes, more = ladder.with_second_tests("across", command, nodes, judged(ran), judged)
    return Climbed(
        outcomes=(*outcomes, *ladder.against_baseline(ran)),
        runs=tuple(one.folder for one in (ran, *more) if one.folder),
        measurements=ran.run.measurements if ran.run else (),
        info=ran.run,
    )
