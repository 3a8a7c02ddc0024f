"""nccltool rendezvous with real ranks: a taken port and a file system without locks stop the forms concerned."""

import shutil
import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.commands import NCCLTOOL, Command, clean_environment

pytestmark = pytest.mark.torch
NO_LOCKS = "#include <errno.h>\nint flock(int file, int how) { errno = ENOSYS; return -1; }\n"


def test_each_form_joins_and_adds(tmp_path: Path) -> None:
    with Command((*NCCLTOOL, "rendezvous"), tmp_path) as command:
        ended = command.wait(300)
    assert ended.code == 0, ended.said
    assert "PASS rendezvous: 4 of 4 forms work with 2 ranks over gloo" in ended.said


@pytest.mark.slow
def test_what_stops_each_form_is_named(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler, for a library without locks")
    (tmp_path / "no_locks.c").write_text(NO_LOCKS)
    library = tmp_path / "no_locks.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, tmp_path / "no_locks.c"], check=True, timeout=60)
    env = clean_environment() | {"LD_PRELOAD": str(library)}
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        port = one.getsockname()[1]
        argv = (*NCCLTOOL, "rendezvous", "--timeout", "5", "--rdzv-endpoint", f"127.0.0.1:{port}")
        with Command(argv, tmp_path / "command", env=env) as command:
            ended = command.wait(300)
    assert ended.code == 1, ended.said
    for form in ("env://", "tcp://", "mp.spawn"):
        assert f"ERROR {form} fails: port {port} is taken; " in ended.said
    assert "ERROR file:// fails: the file system of " in ended.said
    assert "has no locks: Function not implemented; " in ended.said
