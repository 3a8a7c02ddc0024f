"""The document of trainings."""

from dataclasses import replace

from nccltool.train import document as train_document
from tests.train.test_judge import RIGHT, judged


def test_the_document_can_be_read_again_and_has_the_only_training_at_the_top() -> None:
    run = judged(*RIGHT)
    document = train_document.to_document(run)
    assert train_document.from_json(train_document.to_json(run).encode(), "it") == run
    assert (document["kind"], document["strategy"], document["measurements"]) == ("train", "ddp", ())
    for name in ("steps", "oracle", "throughput_samples_per_s", "scaling_efficiency", "peak_memory_bytes"):
        assert document[name] == document["trainings"][0][name]
    several = train_document.to_document(replace(run, trainings=run.trainings * 2))
    assert (several["strategy"], several["steps"], several["oracle"]) == ("all", [], None)
