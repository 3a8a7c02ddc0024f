"""What formats for results of tests share: a run of trainings is a suite, and a strategy is a test case."""

from dataclasses import replace

from nccltool.core import junit
from nccltool.core.findings import Finding
from nccltool.core.junit import JunitCase, JunitSuite
from nccltool.probe.finding_kinds import LEFT_OUT
from nccltool.train.result import TrainingResult, TrainRun
from nccltool.train.views import table


def suite(run: TrainRun) -> JunitSuite:
    """A run as a suite; a strategy took as long as its steps."""
    differing = run.differing()
    cases = [_case(training, differing.get(training.strategy)) for training in run.trainings]
    told = {*differing.values(), *(one for one in run.findings if one.kind is LEFT_OUT)}
    others = junit.of_findings(one for one in run.findings if one not in told)
    return JunitSuite(
        command="train",
        info=run.info,
        verdict=run.verdict,
        headline=table.headline(run),
        cases=(*cases, *others),
    )


def _case(training: TrainingResult, finding: Finding | None) -> JunitCase:
    times = [step.time_s for step in training.steps]
    return replace(_judged(training, finding), duration_s=sum(times) if times else None)


def _judged(training: TrainingResult, finding: Finding | None) -> JunitCase:
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
