"""A failure counts until the job has overcome it."""

from tests.triage.test_judge import diagnosis


def test_a_failure_that_was_overcome_is_none() -> None:
    log = "[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\nretrying with 8\n"
    assert diagnosis(log).root_cause == "out-of-memory"
    assert diagnosis(log + "{'train_runtime': 12.0}\n").root_cause == "none"


def test_a_later_run_with_other_settings_does_not_overcome_a_failure() -> None:
    log = "h:1:1 [0] NCCL WARN Cuda failure 'peer access is not supported between these two devices'\n"
    later = "$ NCCL_P2P_DISABLE=1 ./all_reduce_perf -g 2\n# Avg bus bandwidth    : 5.0\n"
    assert diagnosis(log + later).root_cause == "p2p-acs-iommu"
