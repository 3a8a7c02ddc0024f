"""What commands do, called by a program: results and errors, and nothing on the screen."""

from pathlib import Path

import pytest

from nccltool import api


def test_the_doctor_on_a_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "job.env"
    file.write_text("NCCL_BUFFSIZE=4M\n")
    found = api.doctor(env_files=[str(file)], select=["SYN"])
    assert (found.verdict.exit_code, found.findings[0].code) == (1, "SYN012")
    assert found.info.command == ("nccltool.api.doctor",)
    assert capfd.readouterr() == ("", "")


def test_triage_of_a_log(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text(
        "n1:1:1 [0] misc/shmutils.cc:72 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 33030532 bytes\n"
    )
    assert api.triage(str(file)).worst.root_cause == "shm-size"
    with pytest.raises(api.BadInput):
        api.triage()
