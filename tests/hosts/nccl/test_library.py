"""What the doctor thinks, held against what NCCL does: interfaces, configuration files, the whole environment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nccltool.core.unknown import Unknown
from nccltool.hosts.nccl import library as nccl_library
from tests.hosts.nccl.conftest import NEWEST, OTHERS, library

pytestmark = pytest.mark.nccl
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root may make interfaces and mounts of its own")


def differences(file: Path, hosts: int, cases: int, seed: int) -> tuple[int, list[object]]:
    """(how many answers were compared, what differed)."""
    words = [sys.executable, "-m", "tests.hosts.nccl.library_world", str(file), str(hosts), str(cases), str(seed)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    return said["done"], said["different"]


@as_root
@pytest.mark.parametrize("release", [NEWEST, *OTHERS], ids=lambda release: release[1])
def test_no_answer_differs(release: tuple[str, str]) -> None:
    assert differences(library(*release), hosts=12, cases=50, seed=20) == (600, [])


def test_a_child_is_asked(newest: Path) -> None:
    answer = nccl_library.ask(
        str(newest), {"PATH": "/usr/bin", "NCCL_SOCKET_IFNAME": "lo", "NCCL_SOCKET_FAMILY": "AF_INET"}
    )
    assert isinstance(answer, nccl_library.LibraryAnswer)
    assert (answer.code, answer.interface, answer.address) == (0, "lo", "127.0.0.1")
    assert str(answer.version) == NEWEST[1]
    assert dict(answer.environment)["NCCL_SOCKET_IFNAME"] == "lo"


def test_a_refusal_has_its_words(newest: Path) -> None:
    answer = nccl_library.ask(str(newest), {"PATH": "/usr/bin", "NCCL_SOCKET_IFNAME": "nosuch"})
    assert isinstance(answer, nccl_library.LibraryAnswer)
    assert (answer.code, answer.interface, answer.address) == (5, None, None)
    assert "no socket interface found" in answer.error


@pytest.mark.parametrize("name", ["/etc/hosts", "/nonexistent.so"])
def test_what_is_no_library_does_not_answer(name: str) -> None:
    answer = nccl_library.ask(name, {"PATH": "/usr/bin"})
    assert isinstance(answer, Unknown)
    assert "cannot query" in answer.reason


def test_the_doctor_asks(newest: Path) -> None:
    words = [
        sys.executable,
        "-m",
        "nccltool",
        "doctor",
        f"--ask-nccl={newest}",
        "--select",
        "ASK",
        "--format",
        "json",
    ]
    environment = {"PATH": "/usr/bin", "NCCL_SOCKET_IFNAME": "lo", "HOME": "/nonexistent"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=120)
    outcomes = [(outcome["code"], outcome["status"]) for outcome in json.loads(done.stdout)["outcomes"]]
    assert (done.returncode, outcomes) == (0, [("ASK001", "pass"), ("ASK002", "pass")])
