"""What is kept of a preflight: its document, lists of hosts, and what speaks for a failure."""

import json
from pathlib import Path

from tests.cli.commands.test_preflight import HERE
from tests.conftest import Nccltool


def test_a_wrong_interface(nccltool: Nccltool, tmp_path: Path) -> None:
    """One finding fails the doctor's rung, what needs it is skipped, and all is kept."""
    words = ("--nodes", "2", "--format", "json", "-q", "--hosts-dir", str(tmp_path / "lists"))
    done = nccltool("preflight", *words, NCCL_SOCKET_IFNAME="ib9")
    assert (done.code, done.err) == (1, "")
    found = json.loads(done.out)
    failed = [(one["code"], one["host"], one["shown"]) for one in found["outcomes"] if one["status"] == "fail"]
    assert failed == [("doctor/NETIF001", HERE, "everywhere")]
    assert {one["reason"] for one in found["outcomes"] if one["rung"] in ("across", "train")} == {"doctor failed"}
    assert found["hosts"] == [
        {"host": HERE, "status": "fail", "reason": "doctor/NETIF001", "exclude": False, "driver": ""}
    ]  # a variable of the job is no fault of the host
    lists = {file.name: file.read_text() for file in (tmp_path / "lists").iterdir()}
    assert {name: text for name, text in lists.items() if text} == {"hosts.fail": f"{HERE}\n"}
    folder = Path(found["folder"])
    assert json.loads((folder / "run.json").read_text()) == found
    evidence = folder / "evidence/doctor-NETIF001"
    assert sorted(file.name for file in evidence.iterdir()) == ["facts-0.json", "outcomes.json"]
