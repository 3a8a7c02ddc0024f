"""Pairs as jobs of their own, with commands that end in all ways."""

import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from nccltool.cli.commands.pairs import asked
from nccltool.core import processes
from nccltool.core.run_directory import RunDir
from nccltool.launch.run_state import RunState
from nccltool.localize.pairs import isolated
from nccltool.localize.pairs import options as pairs_options
from nccltool.localize.pairs.state import PairsState
from nccltool.localize.pairs.time_left import TimeLeft
from tests.support.options import parsed

HOST = socket.gethostname()


def measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *words: str, fault: str = "") -> RunState:
    """The state after all rounds, where each pair is done by `play`."""
    monkeypatch.setattr(processes, "start_nccltool", play(tmp_path))
    given = asked(parsed("pairs", "--isolated", *words), fault)
    order = pairs_options.from_options(given, {})
    run_dir = RunDir(tmp_path / "runs", order.job.run_id, b"{}")
    return isolated.run(order, run_dir, lambda state: None).state


def play(tmp_path: Path) -> Any:
    """Stands in for `nccltool pairs`: writes a run, says why there is none, or dies."""
    program = tmp_path / "pairs.py"
    program.write_text(_PROGRAM)
    start = processes.subprocess.Popen  # type: ignore[attr-defined]

    def started(words: list[str], env: dict[str, str], out: int, err: Any) -> Any:
        argv = [sys.executable, str(program), *words]
        return start(argv, env=env, stdout=out, stderr=err, start_new_session=True)

    return started


_PROGRAM = """
import json, os, pathlib, socket, sys
words = sys.argv[1:]
value = lambda name: words[words.index(name) + 1]
here = socket.gethostname()
hosts = value("--hosts").split(",") if "--hosts" in words else [here + ":0", here + ":1"]
if os.environ.get("NCCLTOOL_FAULT") or "n3" in hosts:
    sys.exit("Error: rank 1 was killed by SIGKILL")
folder = pathlib.Path(value("--run-dir")) / "20260101T000000Z-00000000"
folder.mkdir(parents=True)
(folder / "job.json").write_text("{}")
run = dict(id="x", started="", command=[], nccltool="", torch=None, backend=None, backend_version=None,
           backend_reason=None, nodes=2, emulated=False, world_size=2,
           hosts=sorted({host.split(":")[0] for host in hosts}))
pair = dict(a=hosts[1], b=hosts[0], busbw_bytes_per_s=1e9, round=0)
(folder / "run.json").write_text(json.dumps(dict(
    schema=1, kind="pairs", status="unknown", exit_code=4, run=run, findings=[], scope="unknown", reason="",
    suspects=[], undetermined=[], next_tests=[], noise=None, smallest_visible_fault=None,
    healthy_busbw_bytes_per_s=None, pairs=[pair])))
"""


def product(state: RunState) -> PairsState:
    assert isinstance(state.product, PairsState)
    return state.product


def test_a_host_that_dies_costs_only_its_own_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = measured(tmp_path, monkeypatch, "--hosts", "n[1-4]", "--rounds", "3")
    met = product(state).encounters
    assert {one.members for one in met if one.busbw_bytes_per_s is None} <= {
        one.members for one in met if "n3" in one.members
    }
    assert {frozenset(one.members) for one in met if one.busbw_bytes_per_s} == {
        frozenset(pair) for pair in (("n1", "n2"), ("n1", "n4"), ("n2", "n4"))
    }
    assert {one.reason for one in met if one.reason} == {"rank 1 was killed by SIGKILL"}
    assert state.world_size == 4
    events = (next((tmp_path / "runs").iterdir()) / "events.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in events].count("encountered") == len(met)


def test_emulated_nodes_keep_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = measured(tmp_path, monkeypatch, "--nodes", "4", "--rounds", "1", fault="kill:rank=2")
    met = product(state).encounters
    assert sorted(name for one in met for name in one.members) == [f"{HOST}:{number}" for number in range(4)]
    (failed,) = (one for one in met if one.busbw_bytes_per_s is None)
    assert f"{HOST}:2" in failed.members  # the drill is that of the node's own rank


def test_a_run_that_its_deadline_ends_is_incomplete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the pairs may be all that was measured: that must not look like a whole run."""
    monkeypatch.setattr(TimeLeft, "is_enough", property(lambda left: left.left_s is None))
    state = measured(tmp_path, monkeypatch, "--hosts", "n[1-2],n4", "--rounds", "3")
    assert product(state).done == {0}
    assert [(one.code, one.effect) for one in product(state).findings()] == [("deadline", "incomplete")]
