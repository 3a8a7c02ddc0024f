"""nccltool facts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nccltool.hosts import facts as hosts_facts
from nccltool.hosts.views import table
from tests import captured_hosts
from tests.conftest import Nccltool


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return captured_hosts.build(tmp_path_factory.mktemp("host") / "roce", captured_hosts.KINDS["roce"])


def test_this_host(nccltool: Nccltool) -> None:
    said = nccltool("facts")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith("host ")


def test_a_captured_tree(tree: Path, nccltool: Nccltool) -> None:
    said = nccltool("facts", "--root", str(tree))
    assert (said.code, said.err) == (0, "")
    assert ":1 (NUMA 0); mlx5_" in said.out
    assert "RDMA mlx5_7:1" in nccltool("facts", "--root", str(tree), "-v").out
    assert nccltool("facts", NCCLTOOL_ROOT=str(tree)).out == said.out


def test_json_is_a_snapshot(tree: Path, nccltool: Nccltool) -> None:
    said = nccltool("facts", "--root", str(tree), "--format", "json")
    host = hosts_facts.from_json(said.out, "stdout")
    assert (host.host, host.root, host.schema, host.kind) == ("r001", str(tree), 1, "facts")


def test_a_file_gets_the_snapshot(tree: Path, tmp_path: Path, nccltool: Nccltool) -> None:
    file = tmp_path / "r001.json"
    said = nccltool("facts", "--root", str(tree), "--output", str(file))
    assert (said.code, said.out, said.err) == (0, "", "")
    assert json.loads(file.read_text())["host"] == "r001"
    nccltool("facts", "--root", str(tree), "--output", str(file), "--format", "table")
    assert file.read_text().startswith("host ")


@pytest.mark.parametrize("form", ["csv", "nccl-tests"])
def test_a_format_of_runs(form: str, nccltool: Nccltool) -> None:
    said = nccltool("facts", "--format", form)
    sentence = f"Error: --format {form} shows a run, not facts\n  -> choose from {', '.join(table.FORMATS)}\n"
    assert (said.code, said.out, said.err) == (2, "", sentence)


def test_a_folder_that_is_no_captured_tree(tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool("facts", "--root", str(tmp_path))
    sentence = f"Error: --root {tmp_path} contains neither proc nor sys\n"
    assert (said.code, said.out, said.err) == (
        2,
        "",
        f"{sentence}  -> pass the directory that contains the captured proc and sys\n",
    )


def test_a_file_that_cannot_be_written(tree: Path, tmp_path: Path, nccltool: Nccltool) -> None:
    said = nccltool("facts", "--root", str(tree), "--output", str(tmp_path / "no/x.json"))
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"Error: --output {tmp_path / 'no/x.json'} cannot be written: No such file")


def test_without_standard_streams(tmp_path: Path) -> None:
    script = f'{sys.executable} -m nccltool facts --output "$0" <&- >&- 2>&-'
    file = tmp_path / "facts.json"
    done = subprocess.run(["sh", "-c", script, str(file)], check=False)
    assert done.returncode == 0
    assert "ended early" not in file.read_text()
