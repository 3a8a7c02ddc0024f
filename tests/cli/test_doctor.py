"""nccltool doctor: words in, text and exit code out."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from nccltool.hosts import facts as hosts_facts
from nccltool.hosts.facts import ConfFile, HostFacts, Versions
from tests.captured_hosts import healthy
from tests.conftest import Nccltool

Golden = Callable[[str, str], None]


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """A snapshot with one finding of each severity, in a file."""
    facts = HostFacts(
        host="n1",
        env={"NCCL_IB_HCA": '"mlx5_0"', "NCCL_IB_TIMEOUT": "022", "RANK": "0"},
        conf_files=(
            ConfFile(
                role="system", path="/etc/nccl.conf", exists=True, text="NCCL_IB_TIMEOUT=20\nNCCL_BUFFSIZE=4M\n"
            ),
        ),
        versions=Versions(nccl="2.27.7", torch="2.13.0+cu130"),
    )
    file = tmp_path / "facts.json"
    file.write_text(hosts_facts.to_json(facts))
    return str(file)


CHOSEN = ("--select", "SYN009,SYN012,SYN013,CNF004,PLG001,DBG004")


def test_the_table(saved: str, nccltool: Nccltool, golden: Golden) -> None:
    said = nccltool("doctor", "--facts", saved, *CHOSEN)
    assert (said.code, said.err) == (1, "")
    golden("doctor.table", said.out)


def test_the_settings_are_shown_when_asked_for(saved: str, nccltool: Nccltool) -> None:
    said = nccltool("doctor", "--facts", saved, *CHOSEN, "--show-settings")
    assert '    NCCL_IB_HCA="mlx5_0"    (environment)\n' in said.out
    assert "    NCCL_BUFFSIZE=4M    (/etc/nccl.conf:2)\n" in said.out


def test_the_document(saved: str, nccltool: Nccltool) -> None:
    document = json.loads(nccltool("doctor", "--facts", saved, *CHOSEN, "--format", "json").out)
    assert [document[key] for key in ("schema", "kind", "status", "exit_code", "nccl")] == [
        1,
        "doctor",
        "fail",
        1,
        "2.27.7",
    ]
    assert document["run"]["hosts"] == ["n1"]
    assert [finding["code"] for finding in document["findings"]] == ["SYN009", "SYN012", "SYN013", "CNF004"]
    assert document["outcomes"][0] == {"code": "CNF004", "status": "pass", "reason": ""}
    assert {outcome["code"]: outcome["status"] for outcome in document["outcomes"]}["DBG004"] == "unknown"
    assert {"name": "NCCL_BUFFSIZE", "value": "4M", "origin": "/etc/nccl.conf:2"} in document["settings"]


def test_sarif(saved: str, nccltool: Nccltool, golden: Golden) -> None:
    text = nccltool("doctor", "--facts", saved, *CHOSEN, "--format", "sarif").out
    (run,) = json.loads(text)["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    places = [result["locations"][0].get("physicalLocation") for result in run["results"]]
    assert {"artifactLocation": {"uri": "file:///etc/nccl.conf"}, "region": {"startLine": 2}} in places
    golden("doctor.sarif", text)


def test_junit(saved: str, nccltool: Nccltool, golden: Golden) -> None:
    text = nccltool("doctor", "--facts", saved, *CHOSEN, "--format", "junit").out
    (suite,) = ElementTree.fromstring(text)
    assert {name: suite.get(name) for name in ("tests", "failures", "skipped")} == {
        "tests": "6",
        "failures": "2",
        "skipped": "1",
    }
    assert len(suite) == 6
    start, _, rest = text.partition('timestamp="')
    golden("doctor.junit", f'{start}timestamp="{rest.partition(chr(34))[1]}{rest.partition(chr(34))[2]}')


def test_fixes_can_be_given_to_a_shell(saved: str, nccltool: Nccltool) -> None:
    said = nccltool("doctor", "--facts", saved, *CHOSEN, "--fix")
    assert said.code == 1
    script = f'{said.out}\nprintf \'%s \' "$NCCL_IB_HCA" "$NCCL_IB_TIMEOUT"'
    done = subprocess.run(["sh", "-euc", script], capture_output=True, text=True, check=True)
    assert done.stdout == "mlx5_0 22 "
    assert "# /etc/nccl.conf:2: write NCCL_BUFFSIZE=4194304\n" in said.out


def test_it_is_written_to_a_file(saved: str, nccltool: Nccltool, tmp_path: Path) -> None:
    said = nccltool("doctor", "--facts", saved, *CHOSEN, "--output", str(tmp_path / "out"))
    assert (said.code, said.out) == (1, "")
    assert "SYN009" in (tmp_path / "out").read_text()


def test_several_snapshots_are_one_job(saved: str, nccltool: Nccltool, tmp_path: Path) -> None:
    facts = hosts_facts.from_json(Path(saved).read_text(), saved)
    other = tmp_path / "other.json"
    other.write_text(hosts_facts.to_json(HostFacts(host="n2", env=facts.env, versions=Versions(nccl="2.30.7"))))
    said = nccltool("doctor", "--facts", saved, "--facts", str(other), "--select", "PLG007,SYN009")
    assert "ERROR PLG007" in said.out
    assert "    on n[1-2]\n" in said.out


def test_variables_from_a_file(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "job.env"
    file.write_text("NCCL_DEBUG=LOUD\nSECRET=x\n")
    said = nccltool("doctor", "--env-file", str(file), "--select", "DBG003")
    assert said.code == 1
    assert f"    {file}: NCCL_DEBUG=LOUD\n" in said.out


def test_variables_of_a_process(nccltool: Nccltool) -> None:
    sleeper = subprocess.Popen(["sleep", "60"], env={"NCCL_DEBUG": "LOUD"})
    try:
        said = nccltool("doctor", "--pid", str(sleeper.pid), "--select", "DBG003")
    finally:
        sleeper.kill()
        sleeper.wait()
    assert said.code == 1
    assert f"    pid {sleeper.pid}: NCCL_DEBUG=LOUD\n" in said.out


@pytest.mark.skipif(os.getuid() != 0, reason="only root may make mounts of its own")
def test_the_files_of_a_container_are_its_own(nccltool: Nccltool) -> None:
    script = "mount -t tmpfs none /mnt && echo NCCL_DEBUG=LOUD > /mnt/nccl.conf && echo ready && exec sleep 60"
    environment = {"NCCL_CONF_FILE": "/mnt/nccl.conf", "PATH": os.environ["PATH"]}
    words = ["unshare", "--mount", "sh", "-c", script]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) as inside:
        assert inside.stdout
        assert inside.stdout.readline() == "ready\n"
        said = nccltool("doctor", "--pid", str(inside.pid), "--select", "DBG003", "--nccl-version", "2.30.7")
        inside.kill()
    assert "    /mnt/nccl.conf:1: NCCL_DEBUG=LOUD\n" in said.out


def test_junk_in_files_is_no_crash(nccltool: Nccltool, tmp_path: Path) -> None:
    loop, junk = tmp_path / "loop", tmp_path / "junk"
    loop.symlink_to(loop)
    junk.write_bytes(bytes(range(256)) * 8192)
    said = nccltool("doctor", "--select", "CNF", NCCL_CONF_FILE=str(loop))
    assert said.code == 1
    assert "CNF001" in said.out
    said = nccltool("doctor", "--select", "CNF,SYN", "--nccl-version", "2.30.7", NCCL_CONF_FILE=str(junk))
    assert said.code in (0, 1)
    assert all(line.isprintable() for line in said.out.splitlines())


def test_a_captured_tree_without_an_environment_cannot_be_judged(nccltool: Nccltool, tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    said = nccltool("doctor", "--root", str(tmp_path), "--select", "SYN")
    assert said.code == 4
    assert "the environment is not known" in said.out
    assert said.out.endswith("nothing found, exit code 4\n")


def test_the_version_decides(saved: str, nccltool: Nccltool) -> None:
    said = nccltool(
        "doctor", "--facts", saved, "--select", "CNF008,ALG002", "--nccl-version", "v2.21.5-1", "--nodes", "2"
    )
    assert "nccltool 0.1.0, NCCL 2.21.5, torch 2.13.0+cu130, on n1\n" in said.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--nccl-version", "new"], "--nccl-version 'new' is no version"),
        (["--select", "XYZ"], "--select: no rule begins with 'XYZ'"),
        (["--env-file", "/nonexistent"], "--env-file /nonexistent cannot be read: No such file or directory"),
        (["--facts", "/nonexistent"], "--facts /nonexistent cannot be read: No such file or directory"),
        (["--facts", "/etc/hosts"], "/etc/hosts is not a snapshot of facts"),
        (["--facts", "x", "--pid", "1"], "--facts cannot be combined with"),
        (["--pid", "1", "--env-file", "x"], "--pid cannot be combined with"),
        (["--pid", "4194305"], "--pid 4194305: there is no such process"),
        (["--root", "/etc"], "--root /etc has neither proc nor sys"),
        (["--nproc-per-node", "many"], "--nproc-per-node 'many' is no number of ranks"),
    ],
)
def test_bad_words(words: list[str], message: str, nccltool: Nccltool) -> None:
    said = nccltool("doctor", *words)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"Error: {message}")
    assert "\n  -> " in said.err


def test_lists(nccltool: Nccltool) -> None:
    rules = nccltool("doctor", "--list-rules").out
    assert "SYN009    error    quoted-value " in rules
    variables = nccltool("doctor", "--list-variables").out.splitlines()
    assert len(variables) == 674
    assert [line.split()[:2] for line in variables if line.startswith("NCCL_IB_HCA ")] == [["NCCL_IB_HCA", "nccl"]]


def test_it_needs_little_and_loads_no_torch() -> None:
    program = (
        "import sys; from nccltool.cli import cli; from nccltool.core import processes\n"
        "try: cli(['doctor'], prog_name='nccltool')\n"
        "except SystemExit: pass\n"
        "print(processes.peak_rss_bytes(), 'torch' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    peak, torch = done.stderr.split()
    assert torch == "False"
    assert int(peak) < 60 << 20


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--select", ","), "--select names no rule"),
        (("--ignore", ""), "--ignore names no rule"),
        (("--nccl-version", ""), "--nccl-version '' is no version"),
        (("--ask-nccl=/nope",), "--ask-nccl /nope is no file"),
        (("--nodes", "99999999999999999999"), "'--nodes': 99999999999999999999 is not in the range"),
        (("--env-file", "/no/such"), "--env-file /no/such cannot be read: No such file or directory"),
    ],
)
def test_words_that_mean_nothing(words: tuple[str, ...], message: str, nccltool: Nccltool) -> None:
    said = nccltool("doctor", *words)
    assert (said.code, said.out) == (2, "")
    assert message in said.err


def test_an_env_file_that_is_none(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "core"
    file.write_bytes(b"\x7fELF\0\0\x01\xff=\0")
    said = nccltool("doctor", "--env-file", str(file))
    assert (said.code, said.out) == (2, "")
    assert f"--env-file {file}: entry 1, '\\x7fELF', is no variable" in said.err


def test_a_process_that_has_ended(nccltool: Nccltool) -> None:
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)  # nobody has asked for its exit code yet
    said = nccltool("doctor", "--pid", str(ended.pid))
    ended.wait()
    assert (said.code, said.out) == (2, "")
    assert f"--pid {ended.pid} has ended" in said.err


def test_fixes_of_what_other_fixes_uncover(nccltool: Nccltool, tmp_path: Path) -> None:
    file = tmp_path / "F"
    facts = replace(
        healthy("ib"), env={"NCCL_DEBUG": "WARN", "NCCL_SHM_DISABLE": "yes", "NCCL_NET_GDR_LEVEL": "9"}
    )
    file.write_text(hosts_facts.to_json(facts))
    lines = nccltool("doctor", "--facts", str(file), "--fix").out.splitlines()
    assert [line for line in lines if not line.startswith("#")][-2:] == [
        "unset NCCL_NET_GDR_LEVEL",
        "unset NCCL_SHM_DISABLE",
    ]


def test_both_lists(nccltool: Nccltool) -> None:
    said = nccltool("doctor", "--list-rules", "--list-variables").out
    assert "SYN009" in said
    assert "NCCL_IB_HCA" in said


def test_a_closed_standard_output() -> None:
    script = f"{sys.executable} -m nccltool explain SYN009 >&-"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (2, "Error: standard output is closed")


@pytest.mark.parametrize("word", ["LIM", "lim", "CON", "NET"])
def test_a_family_is_ignored_though_a_difference_begins_like_it(word: str, nccltool: Nccltool) -> None:
    """`limit-differs`, `conf-differs`: what differs between hosts is no rule."""
    said = json.loads(nccltool("doctor", "--ignore", word, "--format", "json").out)
    assert said["outcomes"]
    assert [one["code"] for one in said["outcomes"] if one["code"].startswith(word.upper())] == []
