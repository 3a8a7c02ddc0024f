"""The archive: what is in it, what is not, and that no secret is."""

import hashlib
import json
import stat
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from nccltool.attach import saved
from nccltool.attach.saved import load as load_look
from nccltool.attach.seen.job import Unread
from nccltool.core.errors import BadInput
from nccltool.interop import bundle
from nccltool.launch.job import run_dir as run_dir_of
from nccltool.probe.document import to_json
from nccltool.probe.result import Run
from tests import samples
from tests.attach.seen.looks import SHIPPED

SECRET = "Zu8kF3vQ9xLm2Rt7"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = run_dir_of(tmp_path / "runs", samples.job())
    folder.log(f"starting with HF_TOKEN={SECRET}\nvm:1:1 [0] misc/shmutils.cc:72 NCCL WARN no room\n")
    folder.finish(
        to_json(Run(info=samples.info(), verdict=samples.good_run().verdict, measurements=(), findings=()))
    )
    folder.close()
    (folder.path / "evidence").mkdir()
    (folder.path / "evidence/facts.json").write_text("{}")
    (folder.path / "link").symlink_to("/etc/passwd")
    return folder.path


@pytest.fixture(autouse=True)
def few_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = {"echo.txt": ("echo", f"password={SECRET}"), "no.txt": ("/missing",), "false.txt": ("false",)}
    monkeypatch.setattr(bundle, "COMMANDS", commands)


def members(file: Path) -> dict[str, bytes]:
    with tarfile.open(file) as archive:
        found = {}
        for member in archive.getmembers():
            content = archive.extractfile(member)
            assert content is not None
            root, _, name = member.name.partition("/")
            assert (root, member.isfile()) == ("bundle", True)
            found[name] = content.read()
        return found


def test_all_of_it_and_no_secret(run: Path, tmp_path: Path) -> None:
    log = tmp_path / "slurm-1.out"
    log.write_bytes(b"\xff\x00 Authorization: Bearer " + SECRET.encode())
    file = tmp_path / "bundle.tar.gz"
    secrets, missing = bundle.bundle((run,), (log,), ("nccltool",), file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    found = members(file)
    here = {"README.txt", "manifest.json", "facts.json", "doctor.json", "packages.txt", "echo.txt", "triage.json"}
    of_run = {f"runs/{run.name}/{name}" for name in ("job.json", "events.jsonl", "log.txt", "run.json")}
    assert set(found) == here | of_run | {f"runs/{run.name}/evidence/facts.json", "logs/slurm-1.out"}
    assert not [name for name, text in found.items() if SECRET.encode() in text]
    assert secrets >= 3
    assert {part.name for part in missing} == {"no.txt", "false.txt"}
    assert json.loads(found["triage.json"])["kind"] == "triage"
    parts = {part["name"]: part for part in json.loads(found["manifest.json"])["parts"]}
    assert set(parts) == set(found) - {"manifest.json"} | {"no.txt", "false.txt"}
    for name, part in parts.items():
        assert part.get("missing") or part["sha256"] == hashlib.sha256(found[name]).hexdigest()


def test_a_long_log_keeps_its_beginning_and_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "HEAD", 10)
    monkeypatch.setattr(bundle, "TAIL", 10)
    log = tmp_path / "long.log"
    log.write_bytes(b"beginning." + b"x" * 80 + b"-the  end-")
    file = tmp_path / "bundle.tar.gz"
    bundle.bundle((), (log,), (), file)
    text = members(file)["logs/long.log"]
    assert text.startswith(b"beginning.\n[80 bytes left out]\n")
    assert text.endswith(b"-the  end-")


def test_a_log_that_cannot_be_read_is_in_the_manifest(tmp_path: Path) -> None:
    file = tmp_path / "bundle.tar.gz"
    _, missing = bundle.bundle((), (tmp_path / "gone.log",), (), file)
    said = {part.name: part.missing for part in missing}
    assert said["logs/gone.log"] == "cannot be read: No such file or directory"
    assert "gone.log" in said["triage.json"]


def test_links_in_its_place_lead_to_nothing(tmp_path: Path) -> None:
    victim, file = tmp_path / "victim", tmp_path / "bundle.tar.gz"
    victim.write_text("precious")
    file.symlink_to(victim)
    (tmp_path / ".bundle.tar.gz.part").symlink_to(victim)
    bundle.bundle((), (), (), file)
    assert victim.read_text() == "precious"
    assert not file.is_symlink()
    assert "manifest.json" in members(file)


def test_where_it_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be written: No such file or directory"):
        bundle.bundle((), (), (), tmp_path / "no/bundle.tar.gz")


def test_what_cannot_be_finished_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken.tar.gz").mkdir()
    with pytest.raises(BadInput, match="cannot be written: Is a directory"):
        bundle.bundle((), (), (), tmp_path / "taken.tar.gz")
    assert [file.name for file in tmp_path.iterdir()] == ["taken.tar.gz"]


def test_a_saved_look_becomes_part(tmp_path: Path) -> None:
    folder = tmp_path / "hang"
    look = replace(load_look(str(SHIPPED)), unreached=(Unread(what="n9", reason=f"password={SECRET}"),))
    saved.save(str(folder), look, '{"kind": "attach"}')
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "look.json").write_text("{")
    file = tmp_path / "b.tar.gz"
    _, missing = bundle.bundle((), (), ("nccltool",), file, (folder, damaged))
    with tarfile.open(file) as archive:
        parts = {one.name.partition("/")[2]: archive.extractfile(one) for one in archive.getmembers()}
        text = parts["attach/hang/look.json"]
        assert text is not None
        assert SECRET not in text.read().decode()
        assert "attach/hang/attach.json" in parts
    assert "attach/damaged/look.json" in {one.name for one in missing}
