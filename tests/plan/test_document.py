import msgspec

from nccltool.plan import document
from nccltool.plan.document import PlanDocument
from tests.plan.samples import LLAMA_8B, plan


def test_the_document_has_what_the_plan_has() -> None:
    made = plan(64)
    read = msgspec.json.decode(document.to_json(made), type=PlanDocument)
    assert (read.kind, read.status, read.choice, read.gpus) == ("plan", "pass", made.strategies[0].layout.name, 64)
    assert read.model.parameters == LLAMA_8B.parameters
    first, of_plan = read.strategies[0], made.strategies[0]
    assert first.memory_bytes.total == of_plan.memory.total
    assert sum(getattr(first.memory_bytes, name) for name in first.memory_bytes.__struct_fields__[:-2]) == (
        first.memory_bytes.total
    )
    assert first.step_time_s.ci[0] < first.step_time_s.mean < first.step_time_s.ci[1]
    degrees = first.degrees
    assert degrees.replicate * degrees.shard * degrees.tensor * degrees.context * degrees.pipeline == 64
    assert [(call.operation, call.count, call.bytes) for call in first.calls] == [
        (timed.calls.operation, timed.calls.count, timed.calls.bytes) for timed in of_plan.time.calls
    ]


def test_a_plan_that_does_not_fit_has_no_choice() -> None:
    read = msgspec.json.decode(document.to_json(plan(1)), type=PlanDocument)
    assert (read.status, read.exit_code, read.choice, read.training_s) == ("fail", 1, None, None)
    assert not any(one.fits for one in read.strategies)
