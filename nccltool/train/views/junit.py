"""Training runs as JUnit XML, for what shows the results of tests: a strategy is a test case."""

from nccltool.core import junit
from nccltool.core.findings import Finding
from nccltool.core.junit import JunitCase, JunitSuite
from nccltool.probe.finding_kinds import LEFT_OUT
from nccltool.train.result import TrainingResult, TrainRun
from nccltool.train.views import table


def render(run: TrainRun) -> str:
    differing = run.differing()
    cases = [_case(training, differing.get(training.strategy)) for training in run.trainings]
    told = {*differing.values(), *(one for one in run.findings if one.kind is LEFT_OUT)}
    others = junit.of_findings(one for one in run.findings if one not in told)
    suite = JunitSuite(
        command="train",
        info=run.info,
        verdict=run.verdict,
        headline=table.headline(run),
        cases=(*cases, *others),
    )
    return junit.report("train", [suite])


def _case(training: TrainingResult, finding: Finding | None) -> JunitCase:
    name, group, reason = training.strategy, "strategies", training.reason
    if finding:
        return junit.case_of(name, [finding], group)
    match training.status:
        case "skip":
            return JunitCase(name=name, group=group, kind="skipped", message=reason)
        case "fail":
            return JunitCase(name=name, group=group, kind="failure", type="fail", message=reason or "it failed")
        case "unknown":
            return JunitCase(name=name, group=group, kind="error", type="unknown", message=reason)
    return JunitCase(name=name, group=group, text=reason)
