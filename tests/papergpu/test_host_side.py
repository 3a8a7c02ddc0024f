"""Commands on paper machines: what they say of the host is what its files tell, and NVML."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.papergpu.machines import env_of, paper

EIGHT_START = (
    "    8 ranks per host start in about 13 s: Python and torch 5.9 s, ranks 0.4 s, GPU contexts 4.0 s, "
    "communicator 3.0 s"
)


def said(name: str, folder: Path, *words: str, **env: str) -> tuple[int, str]:
    """(exit code, standard output) of a command on a machine."""
    whole = {**os.environ, **paper(name).write(folder), **env_of(name), **env}
    argv = [sys.executable, "-m", "nccltool", *words]
    done = subprocess.run(argv, env=whole, capture_output=True, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


def facts(name: str, folder: Path, **env: str) -> dict[str, Any]:
    code, out = said(name, folder, "facts", "--format", "json", **env)
    assert code == 0
    return dict(json.loads(out))


@pytest.mark.parametrize(
    ("name", "gpus", "driver", "ports", "product"),
    [
        ("h100-pcie", (1, "NVIDIA H100 PCIe"), "570.124.06", 0, "SYS-821GE-TNHR"),
        ("dgx", (8, "NVIDIA H100 80GB HBM3"), "570.124.06", 10, "DGXH100"),
        ("p5", (8, "NVIDIA H100 80GB HBM3"), "570.124.06", 32, "p5.48xlarge"),
        ("a3-mega", (8, "NVIDIA H100 80GB HBM3"), "570.124.06", 0, "Google Compute Engine"),
        ("a4", (8, "NVIDIA B200"), "570.124.06", 8, "Google Compute Engine"),
        ("azure", (8, "NVIDIA H100 80GB HBM3"), "570.124.06", 8, "Virtual Machine"),
        ("gb200", (4, "NVIDIA GB200"), "570.124.06", 4, "GB200 NVL"),
        ("mi300x", (8, "AMD Instinct MI300X OAM"), "6.12.12", 8, "AS -8125GS-TNMR2"),
        ("wsl2", (1, "NVIDIA GeForce RTX 4090"), "566.36", 0, None),
        ("mig", (1, "NVIDIA H100 PCIe"), "570.124.06", 0, "SYS-821GE-TNHR"),
        ("two-of-eight", (2, "NVIDIA H100 80GB HBM3"), "570.124.06", 10, "DGXH100"),
    ],
)
def test_a_machine(
    name: str, gpus: tuple[int, str], driver: str, ports: int, product: str | None, tmp_path: Path
) -> None:
    host = facts(name, tmp_path)
    part = host["amd" if name == "mi300x" else "nvidia"]
    assert (part["visible_gpus"], {gpu["name"] for gpu in part["gpus"]}) == (gpus[0], {gpus[1]})
    assert (part["driver"], len(host["rdma"]["devices"])) == (driver, ports)
    assert (host["cloud"]["product_name"] if product else None) == product
    told, judged = said(name, tmp_path, "doctor", "--format", "json", "--nodes", "1")
    assert told == 0, judged
    assert [one for one in json.loads(judged)["findings"] if one["severity"] == "error"] == []


@pytest.mark.parametrize(
    ("name", "env", "count"),
    [
        ("dgx", {"CUDA_VISIBLE_DEVICES": "1,3"}, 2),
        ("mi300x", {"HIP_VISIBLE_DEVICES": "0,1"}, 2),
        ("wsl2", {"CUDA_VISIBLE_DEVICES": ""}, 0),
    ],
)
def test_masks(name: str, env: dict[str, str], count: int, tmp_path: Path) -> None:
    host = facts(name, tmp_path, **env)
    assert host["amd" if name == "mi300x" else "nvidia"]["visible_gpus"] == count


@pytest.mark.parametrize(
    ("name", "env", "planned"),
    [
        ("dgx", {}, "--nproc-per-node 8"),
        ("gb200", {}, "--nproc-per-node 4"),
        ("two-of-eight", {}, "--nproc-per-node 2"),
        ("mi300x", {}, "--nproc-per-node 8"),
        ("mi300x", {"ROCR_VISIBLE_DEVICES": "0,1,2,3"}, "--nproc-per-node 4"),
        ("wsl2", {}, "one rank per node"),
        ("mig", {}, "one rank per node"),
    ],
)
def test_what_preflight_would_start(name: str, env: dict[str, str], planned: str, tmp_path: Path) -> None:
    code, out = said(name, tmp_path, "preflight", "--suite", "smoke", "--dry-run", **env)
    assert (code, planned in out) == (0, True), out


def test_links_and_fabric_are_those_that_nvml_tells(tmp_path: Path) -> None:
    gpus = facts("gb200", tmp_path)["nvidia"]["gpus"]
    assert [len(gpu["nvlinks"]) for gpu in gpus] == [18] * 4
    assert {(gpu["fabric_state"], gpu["cluster_uuid"]) for gpu in gpus} == {
        ("completed", "3f0c5a16-77a1-4a0e-9d53-1f6f3b1d2c44")
    }


def test_what_a_process_needs_to_live_is_its_own(tmp_path: Path) -> None:
    text = "import os,socket;print(os.getpid(), open('/proc/self/stat').read().split()[0], socket.gethostname())"
    env = {**os.environ, **paper("dgx").write(tmp_path)}
    done = subprocess.run([sys.executable, "-c", text], env=env, capture_output=True, text=True, check=True)
    own, seen, host = done.stdout.split()
    assert (own, host) == (seen, os.uname().nodename)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "env", "ranks", "reason"),
    [
        ("mi300x", {"HIP_VISIBLE_DEVICES": "2,5"}, 2, "every rank has a GPU and RCCL"),
        ("wsl2", {}, 1, "every rank has a GPU and NCCL"),
    ],
)
def test_ranks_use_the_gpus_of_a_machine(
    name: str, env: dict[str, str], ranks: int, reason: str, tmp_path: Path
) -> None:
    """Torch for GPUs of AMD counts them through HIP: nothing may do so before the ranks are forked."""
    words = ("probe", "--op", "all_reduce", "-b", "1M", "-e", "1M", "--budget", "1", "--format", "json")
    code, out = said(name, tmp_path, *words, "--cuda-graph", **env)
    run = json.loads(out)
    assert (run["run"]["world_size"], run["run"]["backend"], run["run"]["backend_reason"]) == (
        ranks,
        "nccl",
        reason,
    )
    assert (code, [one["severity"] for one in run["findings"] if one["severity"] == "error"]) == (0, [])


@pytest.mark.parametrize(
    ("name", "nodes", "sizes", "start"),
    [
        (
            "h100-pcie",
            "1",
            None,
            "    1 rank per host starts in about 9 s: Python and torch 5.9 s, ranks 0.1 s, "
            "GPU contexts 0.5 s, communicator 3.0 s",
        ),
        (
            "dgx",
            "1",
            "--sizes 8MiB,1GiB -c 1 --budget 0.2 --launcher local --nodes 1 --nproc-per-node 8",
            EIGHT_START,
        ),
        (
            "dgx",
            "2",
            "--sizes 8MiB,1GiB -c 1 --budget 0.2 --launcher local --nodes 2 --nproc-per-node 4",
            EIGHT_START,
        ),
        (
            "mi300x",
            "1",
            "--sizes 8MiB,1GiB -c 1 --budget 0.2 --launcher local --nodes 1 --nproc-per-node 8",
            EIGHT_START,
        ),
    ],
)
def test_a_preflight_is_planned_for_the_gpus_that_are_here(
    name: str, nodes: str, sizes: str | None, start: str, tmp_path: Path
) -> None:
    code, out = said(name, tmp_path, "preflight", "--dry-run", "--nodes", nodes)
    assert (code, out.splitlines()[-1]) == (0, start)
    assert (sizes is None and "nccltool probe" not in out) or (sizes is not None and sizes in out)
