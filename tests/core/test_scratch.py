import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nccltool.core import scratch
from tests.support.commands import until

USER = """
import sys, time
from nccltool.core import scratch
with scratch.folder() as folder:
    open(folder + "/file", "w").close()
    print(folder, flush=True)
    time.sleep(60)
"""


def test_it_is_gone_when_it_is_not_needed() -> None:
    with scratch.folder() as folder:
        (Path(folder) / "file").write_text("")
    assert not Path(folder).exists()


def test_what_is_still_written_to_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.rmtree", lambda *_, **__: None)  # a child made a new file behind its back
    with scratch.folder() as folder:
        (Path(folder) / "file").write_text("")
    assert not Path(folder).exists()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_it_is_gone_when_its_process_was_killed(number: signal.Signals, tmp_path: Path) -> None:
    env = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", USER], env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        folder = Path(process.stdout.readline().strip())
        assert (folder / "file").exists()
        process.send_signal(number)
        process.wait()
    assert until(lambda: not any(tmp_path.iterdir()), 10.0)


def test_a_name_is_free_and_what_is_made_of_it_is_gone_at_the_end(tmp_path: Path) -> None:
    with scratch.name_in(str(tmp_path)) as one, scratch.name_in(str(tmp_path)) as other:
        assert (Path(one).parent, Path(one).exists(), one == other) == (tmp_path, False, False)
        (Path(one) / "deep").mkdir(parents=True)
        (Path(one) / "deep" / "file").write_text("")
    assert list(tmp_path.iterdir()) == []


def test_a_name_in_no_folder_and_in_a_missing_one(tmp_path: Path) -> None:
    with scratch.name_in("") as name:
        assert name == ""
    with scratch.name_in(str(tmp_path / "missing")) as name:
        assert Path(name).parent == tmp_path / "missing"
    assert list(tmp_path.iterdir()) == []


def test_what_was_made_of_a_name_is_gone_when_its_process_was_killed(tmp_path: Path) -> None:
    program = USER.replace("folder()", f"name_in({str(tmp_path)!r})").replace(
        "    open", "    os.mkdir(folder); open"
    )
    with subprocess.Popen(
        [sys.executable, "-c", f"import os{program}"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert Path(process.stdout.readline().strip(), "file").exists()
        process.kill()
        process.wait()
    assert until(lambda: not any(tmp_path.iterdir()), 10.0)


def test_without_a_shell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("nccltool.core.scratch._SHELL", str(tmp_path / "missing"))
    with scratch.folder() as folder:
        assert Path(folder).is_dir()
    assert not Path(folder).exists()


def test_where_temporary_files_cannot_be_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    with scratch.folder(tmp_path) as folder:
        assert Path(folder).parent == tmp_path
    with pytest.raises(FileNotFoundError), scratch.folder():
        pass
