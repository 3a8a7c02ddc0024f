"""nccltool doctor: words in, text and exit code out."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from nccltool.hosts import facts as hosts_facts
from nccltool.hosts.facts import ConfFile, HostFacts, Versions
from tests.conftest import Nccltool
from tests.support import reports

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
    reports.sarif(text)
    golden("doctor.sarif", text)


@pytest.mark.parametrize("folder", ["", "a b/"])
def test_sarif_names_the_line_of_a_file_of_variables(
    folder: str, nccltool: Nccltool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b").mkdir()
    Path(f"{folder}job.env").write_text("# job\nNCCL_ALGO=Rign\n")
    text = nccltool("doctor", "--env-file", f"{folder}job.env", "--select", "ALG001", "--format", "sarif").out
    ((place,),) = [result["locations"] for run in json.loads(text)["runs"] for result in run["results"]]
    uri = f"{folder.replace(' ', '%20')}job.env"
    assert place["physicalLocation"] == {"artifactLocation": {"uri": uri}, "region": {"startLine": 2}}


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
    assert "# /etc/nccl.conf:2: set NCCL_BUFFSIZE=4194304\n" in said.out


def test_fixes_of_a_file_go_where_they_are_wanted(nccltool: Nccltool, tmp_path: Path) -> None:
    file, out = tmp_path / "job.env", tmp_path / "out"
    file.write_text("export NCCL_DEBUG=WARN\nexport NCCL_IB_HCA=\"'mlx5_0'\" # one\n")
    said = nccltool("doctor", "--env-file", str(file), "--fix", "--output", str(out))
    assert (said.code, said.out) == (1, "")
    line = f'# {file}:2: set export NCCL_IB_HCA="mlx5_0" # one'
    assert out.read_text() == f"# SYN009 quoted-value: NCCL_IB_HCA has quotes in its value\n{line}\n"
    file.write_text("PATH=/bin\n")
    said = nccltool("doctor", "--env-file", str(file), "--fix")
    assert (said.code, said.out) == (4, "# nothing to check: no variable that a rule knows is set\n")
    file.write_text("NCCL_DEBUG=WARN\n")
    assert nccltool("doctor", "--env-file", str(file), "--fix").out == "# nothing to fix\n"


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


def test_junk_in_files_is_no_crash(nccltool: Nccltool, tmp_path: Path) -> None:
    loop, junk = tmp_path / "loop", tmp_path / "junk"
    loop.symlink_to(loop)
    junk.write_bytes(bytes(range(256)) * 8192)
    said = nccltool("doctor", "--select", "CNF", NCCL_CONF_FILE=str(loop))
    assert said.code == 0
    assert "CNF001" in said.out
    said = nccltool("doctor", "--select", "CNF,SYN", "--nccl-version", "2.30.7", NCCL_CONF_FILE=str(junk))
    assert said.code in (0, 1)
    assert all(line.isprintable() for line in said.out.splitlines())


def test_the_version_decides(saved: str, nccltool: Nccltool) -> None:
    said = nccltool(
        "doctor", "--facts", saved, "--select", "CNF008,ALG002", "--nccl-version", "v2.21.5-1", "--nodes", "2"
    )
    assert (
        "PASS doctor on n1: nothing found; 2 of 2 checked rules passed\nNCCL 2.21.5; torch 2.13.0+cu130; "
        in said.out
    )


def test_it_needs_little_and_loads_no_torch() -> None:
    program = (
        "import sys; from nccltool.cli.root import cli; from nccltool.core import processes\n"
        "try: cli(['doctor'], prog_name='nccltool')\n"
        "except SystemExit: pass\n"
        "print(processes.peak_rss_bytes(), 'torch' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    peak, torch = done.stderr.split()
    assert torch == "False"
    assert int(peak) < 60 << 20


def test_a_closed_standard_output() -> None:
    script = f"{sys.executable} -m nccltool explain SYN009 >&-"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.splitlines()[0]) == (5, "Error: standard output is closed")


@pytest.mark.parametrize("word", ["LIM", "lim", "CON", "NET"])
def test_a_family_is_ignored_though_a_difference_begins_like_it(word: str, nccltool: Nccltool) -> None:
    """`limit-differs`, `conf-differs`: what differs between hosts is no rule."""
    said = json.loads(nccltool("doctor", "--ignore", word, "--format", "json").out)
    assert said["outcomes"]
    assert [one["code"] for one in said["outcomes"] if one["code"].startswith(word.upper())] == []
