"""The command of --then."""

import os
import sys
import time
from pathlib import Path

import pytest

from nccltool.attach.watch import then
from nccltool.core.errors import BadInput


def test_words_are_no_shell_commands() -> None:
    assert then.words("echo 'a b' $HOME ; rm *") == ("echo", "a b", "$HOME", ";", "rm", "*")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "--then: an empty command cannot be run"),
        ("no-such-program 1", "--then: 'no-such-program' cannot be run"),
        ("echo 'a", '--then "echo \'a": No closing quotation'),
    ],
)
def test_bad_commands(text: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        then.words(text)
    assert caught.value.message == message


def test_the_exit_code_and_what_it_gets(tmp_path: Path) -> None:
    out = tmp_path / "out"
    program = f"import os, sys; open({str(out)!r}, 'w').write(sys.stdin.read() + os.environ['STATE']); sys.exit(7)"
    done = then.carry_out((sys.executable, "-c", program), '{"a": 1}', {"STATE": "hung"})
    assert done.code == 7
    assert done.told.endswith("exited with code 7")
    assert out.read_text() == '{"a": 1}hung'


def test_it_may_leave_its_input_unread() -> None:
    assert then.carry_out(("true",), "x" * 10**6, {}).code == 0


def test_the_deadline_ends_it_and_what_it_started(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    done = then.carry_out(("sh", "-c", f"sleep 100 & echo $! > {file}; wait"), "", {}, deadline_s=3)
    assert done.code is None
    assert done.told.endswith("took longer than 3 s and was ended")
    pid = int(file.read_text())
    for _ in range(100):
        state = Path(f"/proc/{pid}/stat")
        if not state.exists() or ") Z" in state.read_text():
            return
        time.sleep(0.1)
    os.kill(pid, 9)
    pytest.fail("its child goes on")


def test_a_program_that_cannot_be_started() -> None:
    done = then.carry_out(("/no/such/program",), "", {})
    assert done == then.ThenResult(
        code=None, told="`/no/such/program` cannot be started: No such file or directory"
    )
