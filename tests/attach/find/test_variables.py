"""What is read of an environment: what names a rank, and nothing else."""

from hypothesis import given
from hypothesis import strategies as st

from nccltool.attach.find import variables


def test_only_named_variables_are_taken() -> None:
    raw = b"RANK=3\0WORLD_SIZE=4\0HF_TOKEN=hf_secret\0AWS_SECRET_ACCESS_KEY=x\0MASTER_ADDR=h\0"
    assert variables.chosen(raw) == {"RANK": "3", "WORLD_SIZE": "4", "MASTER_ADDR": "h"}


@given(st.binary())
def test_an_overwritten_area_harms_nobody(raw: bytes) -> None:
    assert set(variables.chosen(raw)) <= variables.READ


def test_torchrun_comes_before_its_scheduler() -> None:
    env = {"SLURM_PROCID": "0", "RANK": "5"}
    launcher = variables.of_launcher(env)
    assert launcher is not None and launcher.launcher == "torchrun"
    assert variables.of_launcher({"RANK": "x"}) is None
    assert variables.number({"A": "x", "B": "7"}, "A", "B") == 7
    assert variables.number({"A": "12345678"}, "A") is None
