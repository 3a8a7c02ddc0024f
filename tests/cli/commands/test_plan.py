"""nccltool plan, from the command line."""

import json
from pathlib import Path

import pytest

from tests.conftest import Nccltool
from tests.plan.test_models import LLAMA


def test_a_plan(nccltool: Nccltool) -> None:
    said = nccltool("plan", "llama-3-8b", "--gpus", "64", "--machine", "h100-sxm-8")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("PASS plan: llama-3-8b on 64 GPUs (h100-sxm-8): fsdp64")


def test_a_machine_that_nobody_named_is_said_to_be_assumed(nccltool: Nccltool) -> None:
    assert "(h100-sxm-8, assumed)" in nccltool("plan", "7B", "--gpus", "8").out


def test_a_folder_of_hugging_face_and_capital_letters(nccltool: Nccltool, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    said = nccltool("plan", str(tmp_path), "--gpus", "64", "--strategy", "FSDP", "--tp", "1", "--pp", "1")
    assert (said.code, said.err) == (0, "")
    assert "8.03B parameters" in said.out


def test_what_does_not_fit_is_exit_code_1(nccltool: Nccltool) -> None:
    said = nccltool("plan", "70B", "--gpus", "8", "--format", "json")
    assert said.code == 1
    assert json.loads(said.out)["findings"][0]["code"] == "nothing-fits"


def test_a_configuration_is_written_to_a_file(nccltool: Nccltool, tmp_path: Path) -> None:
    said = nccltool("plan", "7B", "--gpus", "16", "--emit", "slurm", "--output", str(tmp_path / "job.sh"))
    assert (said.code, said.out) == (0, "")
    assert "#SBATCH --nodes=2" in (tmp_path / "job.sh").read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("7B",), "missing --gpus"),
        (("7B", "--gpus", "0"), "--gpus"),
        (("7B", "--gpus", "6", "--tp", "4"), "--gpus 6 is not a multiple of --tp 4"),
        (("lama-3-8b", "--gpus", "8"), "did you mean llama-3-8b?"),
        (("./none.json", "--gpus", "8"), "none.json"),
        (("7B", "--gpus", "8", "--run", "nothing"), "nothing"),
        (("7B", "--gpus", "8", "--mfu", "200"), "--mfu"),
        (("./none.toml", "--gpus", "8"), "the model none.toml"),
        (("7B", "--gpus", "8", "--machine", "./none.toml"), "the machine none.toml"),
        (("7B", "--gpus", "8", "--emit", "slurm", "--format", "json"), "--emit writes its own format"),
        (("7B", "--gpus", "8", "--emit", "slurm", "--check"), "--check is part of the plan"),
        (("7B", "--gpus", "8", "--mfu", "55%"), "--mfu 55%: unknown run"),
        (("7B", "--gpus", "8", "--mfu", "a,,b"), "--mfu 'a,,b' has an empty item"),
        (("7B", "--gpus", "8", "--run", "nothing"), "--run nothing: unknown run"),
        (("7B", "--gpus", "8", "--offload", "--strategy", "ddp"), "omit --offload"),
        (("7B", "--gpus", "8", "--micro-batch", "9999"), "change a degree, --micro-batch"),
        (("7B", "--gpus", "8", "--step-sequences", "3", "--tp", "1", "--pp", "1"), "--step-sequences 3"),
    ],
)
def test_what_cannot_be_is_exit_code_2_and_one_sentence(
    nccltool: Nccltool, words: tuple[str, ...], said: str
) -> None:
    result = nccltool("plan", *words)
    assert (result.code, result.out) == (2, "")
    assert said in result.err
    assert "Traceback" not in result.err
