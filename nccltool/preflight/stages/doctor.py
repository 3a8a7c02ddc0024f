"""What the doctor says of every host, and where hosts differ."""

from nccltool.doctor import judge, run
from nccltool.preflight import judge as preflight_judge
from nccltool.preflight.stages.base import Climbed, Ladder, skipped

NEEDS = ()
_SECONDS = 0.5
"""307 rules on one host take 0.1 s here; more hosts are alike."""


def about_s(ladder: Ladder) -> float:
    """How long it takes."""
    return _SECONDS


def would(ladder: Ladder) -> tuple[str, ...]:
    """What it would do."""
    part = ladder.suite.doctor
    words = [f"--select {','.join(part.select)}"] if part and part.select else []
    words += [f"--ignore {','.join(part.ignore)}"] if part and part.ignore else []
    return (" ".join(["what nccltool doctor finds on them", *words]),)


def climb(ladder: Ladder) -> Climbed:
    """Ask the rules about the snapshots of the survey."""
    part = ladder.suite.doctor
    assert part is not None
    survey = ladder.survey()
    # of nodes that are processes of one host, the host is one
    snapshots = list({facts.host: facts for facts in survey.snapshots.values()}.values())
    if not snapshots:
        return skipped("doctor", "no host came")
    emulated = not ladder.where.launch.remote
    nodes = 1 if emulated else len(ladder.hosts)
    nproc = ladder.nproc and ladder.nproc * len(ladder.hosts) // nodes
    hosts = [judge.host_of(facts, None, nodes, nproc, len(snapshots)) for facts in snapshots]
    judgement = judge.judge(hosts, run.rules_for(part.select, part.ignore))
    differences = () if part.select else run.differences(snapshots, part.ignore, together=True)
    return Climbed(outcomes=tuple(preflight_judge.of_doctor(judgement, differences, ladder.names)))
