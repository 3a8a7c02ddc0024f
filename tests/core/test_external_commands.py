"""Short external commands: what they said, or why they said nothing."""

import pytest

from nccltool.core import external_commands
from nccltool.core.external_commands import Done
from nccltool.core.unknown import Unknown


@pytest.mark.parametrize(
    ("script", "done"),
    [
        ("echo out; echo err >&2; exit 3", Done(code=3, out="out\n", err="err\n")),
        ("cat", Done(code=0, out="", err="")),  # nothing is to be read
        (r"printf '\377'", Done(code=0, out=r"\xff", err="")),
        ("kill -9 $$", Done(code=-9, out="", err="")),
        ("echo $WORD", Done(code=0, out="here\n", err="")),
    ],
)
def test_what_ended_by_itself(script: str, done: Done) -> None:
    assert external_commands.run(["sh", "-c", script], 9.0, {"WORD": "here", "PATH": "/usr/bin:/bin"}) == done


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["sleep", "60"], "`sleep 60` took longer than 0.1 s"),
        (["/nowhere/x", "1", "2", "3"], "`/nowhere/x 1 2` cannot be started: [Errno 2] No such file or directory"),
        (["echo", "\0"], "`echo \0` cannot be started: embedded null byte"),
    ],
)
def test_what_did_not(argv: list[str], why: str) -> None:
    found = external_commands.run(argv, 0.1)
    assert isinstance(found, Unknown)
    assert found.reason.startswith(why)
