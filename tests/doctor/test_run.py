"""Where the doctor looks: this process or another one, a file, a captured tree, several hosts."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from nccltool.hosts import facts as hosts_facts
from tests.captured_hosts import healthy
from tests.conftest import Nccltool


def test_variables_from_a_file(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "job.env"
    file.write_text("NCCL_ALGO=Rign\nSECRET=x\n")
    said = nccltool("doctor", "--env-file", str(file), "--select", "ALG001", "--nccl-version", "2.30.7")
    assert said.code == 1
    assert f"    {file}:1: NCCL_ALGO=Rign\n" in said.out


def test_later_files_win(nccltool: Nccltool, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("NCCL_ALGO=Rign\nNCCL_PROTO=Smiple\n")
    second.write_text("export NCCL_ALGO='Tere'\n")
    said = nccltool("doctor", "--env-file", str(first), "--env-file", str(second), "--select", "ALG001")
    assert said.out.startswith(f"WARN doctor on {first}, {second}: 2 warnings")
    assert f"    {second}:1: NCCL_ALGO=Tere\n" in said.out
    assert f"    {first}:2: NCCL_PROTO=Smiple\n" in said.out


@pytest.mark.parametrize("text", ["", "# nothing\n", "HOME=/root\nPATH=/bin\nEDITOR=vi\n", "NCCL_DEBUG\n"])
def test_a_file_without_a_variable_that_a_rule_knows_does_not_pass(
    text: str, nccltool: Nccltool, tmp_path: Path
) -> None:
    file = tmp_path / "job.env"
    file.write_text(text)
    said = nccltool("doctor", "--env-file", str(file))
    assert said.code == 4
    assert said.out.startswith(
        f"UNKNOWN doctor on {file}: nothing to check: no variable that a rule knows is set\n"
    )
    document = json.loads(nccltool("doctor", "--env-file", str(file), "--format", "json").out)
    assert {(one["status"], one["reason"]) for one in document["outcomes"]} == {
        ("skip", "nothing to check: no variable that a rule knows is set")
    }
    (tmp_path / "root" / "proc").mkdir(parents=True)
    said = nccltool("doctor", "--env-file", str(file), "--root", str(tmp_path / "root"))
    assert said.out.startswith("UNKNOWN doctor on root: nothing found; no host: the captured tree is empty\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NO_PROXY=10.0.0.0/8", "UNKNOWN"),
        ("http_proxy=http://proxy:3128", "WARN LCH028"),
        ("https_proxy=http://proxy:3128", "WARN LCH028"),
        ("http_proxy=http://proxy:3128\nno_proxy=10.0.0.0/8", "PASS"),
        ("SLURM_MEM_PER_CPU=4000", "PASS"),
        ("SLURM_MEM_PER_CPU=4000\nSLURM_MEM_PER_NODE=64000", "FAIL LCH016"),
        ("SLURM_NTASKS_PER_NODE=8", "PASS"),
        ("VLLM_RAY_BUNDLE_INDICES=1,1", "WARN CON012"),
        ("OMPI_MCA_orte_keep_fqdn_hostnames=1\nOPENMPI_VERSION=5.0.1", "WARN MPI007"),
    ],
)
def test_a_variable_that_is_the_only_one_is_judged(
    text: str, said: str, nccltool: Nccltool, tmp_path: Path
) -> None:
    file = tmp_path / "job.env"
    file.write_text(f"{text}\n")
    out = nccltool("doctor", "--env-file", str(file), "--nodes", "2", "--ignore", "DBG", "--format", "json").out
    document = json.loads(out)
    codes = [one["code"] for one in document["findings"]]
    assert " ".join([document["status"].upper(), *codes]) == said


@pytest.mark.parametrize(
    ("text", "accepted", "remedy"),
    [
        ("NCCL_MNNVL_ENABLE=3", ["range 0 to 2"], "set a value in this range or "),
        ("NCCL_P2P_MAX_PEERS=0", ["range from 1 on"], "set a value in this range or "),
        (f"NCCL_BUFFSIZE={'9' * 30}", [], "set a number that fits in 64 bits or "),
    ],
)
def test_a_range_is_named_as_far_as_it_is_known(
    text: str, accepted: list[str], remedy: str, nccltool: Nccltool, tmp_path: Path
) -> None:
    file = tmp_path / "job.env"
    file.write_text(f"{text}\n")
    document = json.loads(
        nccltool("doctor", "--env-file", str(file), "--select", "SYN014", "--format", "json").out
    )
    (finding,) = document["findings"]
    assert finding["evidence"][1:] == accepted
    assert remedy in finding["remedy"]


def test_a_bare_name_is_that_of_the_command(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "job.env"
    file.write_text("NCCL_ALGO\n")
    said = nccltool("doctor", "--env-file", str(file), "--select", "ALG001", NCCL_ALGO="Rign")
    assert f"    {file}:1: NCCL_ALGO=Rign\n" in said.out


def test_variables_are_piped_in(nccltool: Nccltool) -> None:
    words = [sys.executable, "-m", "nccltool", "doctor", "--select", "ALG001", "--env-file", "-"]
    done = subprocess.run(words, input="NCCL_ALGO=Rign\n", capture_output=True, text=True, check=False)
    assert "    standard input:1: NCCL_ALGO=Rign\n" in done.stdout
    closed = subprocess.run(["sh", "-c", f"{shlex.join(words)} <&-"], capture_output=True, text=True, check=False)
    assert closed.stderr.startswith("Error: --env-file cannot be read from standard input: it is closed\n")
    assert nccltool("doctor", "--env-file", "-", "--env-file", "-").err.startswith(
        "Error: --env-file - is given twice"
    )


def test_a_file_without_a_host_is_judged_alone(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "job.env"
    file.write_text("NCCL_SOCKET_IFNAME=ib9\nNCCL_IB_HCA=mlx5\nNCCL_TOPO_FILE=/none.xml\nNCCL_CONF_FILE=/none\n")
    said = nccltool("doctor", "--env-file", str(file), NCCL_DEBUG="LOUD")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"PASS doctor on {file}: nothing found; ")
    assert said.out.count("no host given") == 1
    document = json.loads(nccltool("doctor", "--env-file", str(file), "--format", "json").out)
    assert document["run"]["hosts"] == []
    skipped = {one["code"] for one in document["outcomes"] if one["reason"].startswith("no host given")}
    assert {"IB003", "NETIF001", "TOP001", "CNF001", "SHM003", "LIM001"} <= skipped
    assert {one["status"] for one in document["outcomes"] if one["code"] in skipped} == {"skip"}


@pytest.mark.parametrize("folders", [(), ("proc", "sys")])
def test_what_was_not_captured_is_unknown(folders: tuple[str, ...], nccltool: Nccltool, tmp_path: Path) -> None:
    root, file = tmp_path / "root", tmp_path / "job.env"
    for name in ("", *folders):
        (root / name).mkdir()
    said = nccltool("doctor", "--root", str(root))
    assert (said.code, said.err) == (4, "")
    assert said.out.startswith("UNKNOWN doctor on root: no rule could be checked\n")
    file.write_text("NCCL_IB_HCA=mlx5\nNCCL_NET_PLUGIN=ofi\nNCCL_TOPO_FILE=/none.xml\nNCCL_CONF_FILE=/none\n")
    said = nccltool("doctor", "--root", str(root), "--env-file", str(file))
    assert (said.code, said.out.partition("\n")[0]) == (
        4,
        "UNKNOWN doctor on root: nothing found; no host: the captured tree is empty",
    )


def test_variables_of_a_process(nccltool: Nccltool) -> None:
    words = ["sh", "-c", "echo ready; read _"]  # while a program is being loaded, its environment reads as empty
    pipe = subprocess.PIPE
    with subprocess.Popen(words, env={"NCCL_ALGO": "Rign"}, stdin=pipe, stdout=pipe, text=True) as waiting:
        assert waiting.stdout
        assert waiting.stdout.readline() == "ready\n"
        said = nccltool("doctor", "--pid", str(waiting.pid), "--select", "ALG001", "--nccl-version", "2.30.7")
        waiting.kill()
    assert said.code == 1
    assert f"    pid {waiting.pid}: NCCL_ALGO=Rign\n" in said.out


@pytest.mark.skipif(os.getuid() != 0, reason="only root may make mounts of its own")
def test_the_files_of_a_container_are_its_own(nccltool: Nccltool) -> None:
    script = "mount -t tmpfs none /mnt && echo NCCL_ALGO=Rign > /mnt/nccl.conf && echo ready && exec sleep 60"
    environment = {"NCCL_CONF_FILE": "/mnt/nccl.conf", "PATH": os.environ["PATH"]}
    words = ["unshare", "--mount", "sh", "-c", script]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as inside:
        assert inside.stdout
        assert inside.stdout.readline() == "ready\n"
        said = nccltool("doctor", "--pid", str(inside.pid), "--select", "ALG001", "--nccl-version", "2.30.7")
        inside.kill()
    assert "    /mnt/nccl.conf:1: NCCL_ALGO=Rign\n" in said.out


def test_a_captured_tree_without_an_environment_cannot_be_judged(nccltool: Nccltool, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    said = nccltool("doctor", "--root", str(tmp_path), "--select", "SYN")
    assert said.code == 4
    assert "environment unknown" in said.out
    assert said.out.startswith("UNKNOWN doctor on ")
    assert ": no rule could be checked\n" in said.out


def _hosts(folder: Path, **odd: object) -> list[str]:
    """Three healthy hosts, of which n3 is odd, as words of the command line."""
    words = []
    for name in ("n1", "n2", "n3"):
        one = replace(healthy("ib"), host=name, boot_id=name, env={"NCCL_DEBUG": "WARN"})
        if name == "n3":
            one = replace(one, **odd)
        (folder / name).write_text(hosts_facts.to_json(one))
        words += ["--facts", str(folder / name)]
    return words


def test_hosts_differ_in_what_no_rule_is_about(nccltool: Nccltool, tmp_path: Path) -> None:
    driver = replace(healthy("ib").nvidia, driver="535.1.1")
    words = _hosts(tmp_path, nvidia=driver)
    said = nccltool("doctor", *words)
    assert (said.code, said.err) == (0, "")
    assert "WARNING driver-differs: NVIDIA driver is 535.1.1 on n3, and 570.124.06 on the other 2\n" in said.out
    assert "driver-differs" not in nccltool("doctor", *words, "--ignore", "driver-differs").out
    assert "driver-differs" not in nccltool("doctor", *words, "--select", "SYN").out
    (run,) = json.loads(nccltool("doctor", *words, "--format", "sarif").out)["runs"]
    assert "driver-differs" in [result["ruleId"] for result in run["results"]]
    assert "driver-differs" in nccltool("doctor", *words, "--format", "junit").out


def test_what_differs_is_said_once(nccltool: Nccltool, tmp_path: Path) -> None:
    first, *others = healthy("ib").network.interfaces  # type: ignore[misc]
    jumbo = (first, replace(others[0], mtu=9000), *others[1:])
    odd: dict[str, object] = {
        "env": {"NCCL_DEBUG": "WARN", "NCCL_ALGO": "Ring"},
        "versions": replace(healthy("ib").versions, nccl="2.27.5"),
        "network": replace(healthy("ib").network, interfaces=jumbo),
    }
    document = json.loads(nccltool("doctor", *_hosts(tmp_path, **odd), "--format", "json").out)
    codes = sorted(finding["code"] for finding in document["findings"])
    assert codes == ["ALG003", "CON002", "HOST007", "PLG007"]
    forced = next(finding for finding in document["findings"] if finding["code"] == "ALG003")
    assert "on n3" in forced["evidence"]


def test_an_env_file_that_is_none(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "core"
    file.write_bytes(b"\x7fELF\0\0\x01\xff=\0")
    said = nccltool("doctor", "--env-file", str(file))
    assert (said.code, said.out) == (2, "")
    assert f"--env-file {file}: entry 1, '\\x7fELF', is not a variable" in said.err


def test_a_process_that_has_ended(nccltool: Nccltool) -> None:
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # nobody has asked for its exit code yet
    said = nccltool("doctor", "--pid", str(ended.pid))
    ended.wait()
    assert (said.code, said.out) == (2, "")
    assert f"--pid {ended.pid} has exited" in said.err


def test_fixes_of_what_other_fixes_uncover(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "F"
    facts = replace(
        healthy("ib"), env={"NCCL_DEBUG": "WARN", "NCCL_SHM_DISABLE": "yes", "NCCL_NET_GDR_LEVEL": "9"}
    )
    file.write_text(hosts_facts.to_json(facts))
    lines = nccltool("doctor", "--facts", str(file), "--fix").out.splitlines()
    assert "unset NCCL_SHM_DISABLE" in lines


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        ("allreduce:Rinng", "set NCCL_ALGO=allreduce:Ring or remove it"),
        ("Ring,Treee", "set NCCL_ALGO=Ring,Tree or remove it"),
        ("Rign;allgather:Ring", "set NCCL_ALGO=Ring;allgather:Ring or remove it"),
        ("fastest", "correct the name or remove NCCL_ALGO"),
    ],
)
def test_a_misspelled_algorithm_comes_with_its_correction(
    value: str, remedy: str, nccltool: Nccltool, tmp_path: Path
) -> None:
    file = tmp_path / "job.env"
    file.write_text(f"NCCL_ALGO={value}\n")
    said = nccltool("doctor", "--env-file", str(file), "--select", "ALG001", "--nccl-version", "2.30.7")
    assert f"-> in {file}:1: {remedy}\n" in said.out


def test_names_that_nothing_reads_are_counted_behind_the_first_ones(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "job.env"
    file.write_text("".join(f"NCCL_X{number:04}=1\n" for number in range(1000)) + "NCCL_IB_HCAA=mlx5_0\n")
    said = nccltool("doctor", "--env-file", str(file), "--select", "SYN001", "--format", "json")
    findings = json.loads(said.out)["findings"]
    assert len(findings) == 201
    assert {one["severity"] for one in findings} == {"warning", "info"}
    assert "NCCL_IB_HCA?" in findings[0]["message"]
    assert findings[-1]["message"] == "no known library reads this one and 800 more variables"
