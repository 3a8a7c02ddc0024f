"""GPUs of this host, by commands that may be missing, fail, or never return."""

from pathlib import Path

import pytest

from nccltool.attach.look import gpus
from nccltool.hosts.sources.base import Tree

_ROW = "0, GPU-1, 00000000:07:00.0, 100, 127.43, 700.00, 1980, 1980, 41, 0, 71234, 0x0"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """A host with a driver of NVIDIA, without NVML's library for Python."""
    version = tmp_path / "host/proc/driver/nvidia/version"
    version.parent.mkdir(parents=True)
    version.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.124.06\n")
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(gpus, "find_spec", lambda name: None)
    return Tree.at(tmp_path / "host")


def _command(tmp_path: Path, text: str, name: str = "nvidia-smi") -> None:
    path = tmp_path / "bin" / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def test_nvidia_smi(tree: Tree, tmp_path: Path) -> None:
    _command(tmp_path, f'case "$1" in *compute*) echo "GPU-1, 4711";; *) echo "{_ROW}";; esac')
    (one,), unread = gpus.read("n1", tree)
    assert (one.power_w, one.pids, unread) == (127.43, (4711,), ())


def test_a_driver_before_535(tree: Tree, tmp_path: Path) -> None:
    no = 'Field "clocks_event_reasons.active" is not a valid field to query.'
    _command(tmp_path, f'case "$1" in *event_reasons*) echo \'{no}\'; exit 2;; *) echo "{_ROW}";; esac')
    (one,), unread = gpus.read("n1", tree)
    assert (one.uuid, unread) == ("GPU-1", ())


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("exec sleep 60", "nvidia-smi did not return within 0.5 s"),
        ("echo 'NVIDIA-SMI has failed' >&2; exit 9", "nvidia-smi: NVIDIA-SMI has failed"),
        ("echo No devices were found", "nvidia-smi wrote 'No devices were found'"),
    ],
)
def test_what_is_wrong_is_listed(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, reason: str
) -> None:
    monkeypatch.setattr(gpus, "DEADLINE_S", 0.5 if "sleep" in command else 20.0)
    _command(tmp_path, command)
    found, (unread,) = gpus.read("n1", tree)
    assert (found, unread.what, unread.reason) == ((), "GPUs (NVIDIA)", reason)


def test_no_tool(tree: Tree, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    _, (unread,) = gpus.read("n1", tree)
    assert (unread.reason, unread.missing) == ("nvidia-ml-py and nvidia-smi not found", "pip install nvidia-ml-py")


def test_no_driver_is_nothing_to_list(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    assert gpus.read("n1", Tree.at(tmp_path)) == ((), ())


def test_amd_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kfd").touch()
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    _command(
        tmp_path,
        """case "$1" in process) echo '[]';; *) echo '[{"gpu": 0, "power": {"socket_power": 7}}]';; esac""",
        "amd-smi",
    )
    (one,), unread = gpus.read("n1", Tree.at(tmp_path))
    assert (one.vendor, one.power_w, unread) == ("amd", 7.0, ())
