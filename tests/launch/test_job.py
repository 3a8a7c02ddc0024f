"""A job as it is kept."""

import json
from pathlib import Path

from nccltool.launch.job import run_dir as run_dir_of
from tests.samples import job


def test_of_variables_for_other_hosts_only_those_of_the_libraries_are_kept(tmp_path: Path) -> None:
    """A variable that was named may be a secret, and nothing says which."""
    env = {"NCCL_DEBUG": "INFO", "GLOO_SOCKET_IFNAME": "eth0", "TORCH_NCCL_X": "1", "TOKEN": "s3cret"}
    env |= {
        "FI_PROVIDER": "efa",
        "UCX_TLS": "tcp",
        "RCCL_X": "1",
        "HSA_X": "1",
        "OFI_NCCL_X": "1",
        "PYTORCH_X": "1",
    }
    run_dir = run_dir_of(tmp_path, job(env=env))
    run_dir.close()
    kept = json.loads((run_dir.path / "job.json").read_text())["env"]
    assert kept == {name: value for name, value in env.items() if name != "TOKEN"}


def test_a_secret_in_a_variable_of_the_libraries_is_not_kept(tmp_path: Path) -> None:
    env = {"NCCL_SITE_TOKEN": "s3cretS3CRET", "FI_URL": "https://me:s3cret@proxy", "NCCL_SOCKET_IFNAME": "eth0"}
    run_dir = run_dir_of(tmp_path, job(env=env))
    run_dir.close()
    text = (run_dir.path / "job.json").read_text()
    assert "s3cret" not in text
    assert json.loads(text)["env"]["NCCL_SOCKET_IFNAME"] == "eth0"
