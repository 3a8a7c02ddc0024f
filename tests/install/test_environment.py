"""scripts/_env, which makes .venv: when it is reused, when it is made anew, and what is said when it cannot be.

Nothing is downloaded here: the Python and the environment are small programs. test_fresh_clone.py does it in
earnest.
"""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from nccltool.core import processes

ROOT = Path(__file__).parents[2]
REAL_PYTHON = "#!/bin/sh\necho 3.11\n"
"""A Python that is new enough, and whose environments and pips do nothing."""
SHOW_ARGUMENTS = '#!/bin/sh\nfor word in "$@"; do printf "<%s>\\n" "$word"; done\nexit 7\n'


@dataclass(frozen=True)
class Checkout:
    """The scripts in a folder of their own, with an environment that looks made."""

    root: Path

    @property
    def command(self) -> str:
        return str(self.root / "scripts/nccltool")

    def run(self, *words: str, command: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        environment = {"PATH": os.environ["PATH"], **env}
        argv = [command or self.command, *words]
        return subprocess.run(argv, env=environment, capture_output=True, text=True, check=False, timeout=60)


def _program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root = tmp_path / "a check out"  # with blanks, as folders of users have
    shutil.copytree(ROOT / "scripts", root / "scripts")
    shutil.copy(ROOT / "pyproject.toml", root)
    _program(root / ".venv/bin/nccltool", SHOW_ARGUMENTS)
    _program(tmp_path / "python3.11", REAL_PYTHON)
    (root / ".venv/bin/python").symlink_to(tmp_path / "python3.11")
    stamp = f'. "{root}/scripts/_env"; _write_stamp base'
    subprocess.run(["bash", "-c", stamp], check=True, timeout=60)
    return Checkout(root)


def test_a_made_environment_is_used_and_the_words_arrive_as_they_are(checkout: Checkout) -> None:
    done = checkout.run("probe", "--op", "a b", "", "*", "$HOME", "-v", NCCLTOOL_PYTHON="/nowhere/python3")
    assert done.stdout == "<probe>\n<--op>\n<a b>\n<>\n<*>\n<$HOME>\n<-v>\n"
    assert (done.returncode, done.stderr) == (7, "")


def test_it_works_through_a_link_and_from_anywhere(checkout: Checkout, tmp_path: Path) -> None:
    link = tmp_path / "bin/nccltool"
    link.parent.mkdir()
    link.symlink_to(checkout.command)
    assert checkout.run("x", command=str(link)).stdout == "<x>\n"
    relative = f'cd "{checkout.root}/scripts" && CDPATH=/ bash nccltool x'
    assert checkout.run("-c", relative, command="bash").stdout == "<x>\n"


def test_a_closed_standard_error_ends_nothing(checkout: Checkout) -> None:
    (checkout.root / ".venv/base.stamp").unlink()  # it would say that it makes the environment
    closed = f'NCCLTOOL_PYTHON=/nowhere/python3 exec "{checkout.command}" x 2>&-'
    assert checkout.run("-c", closed, command="bash").returncode == 2


def _edit_constraints(root: Path) -> None:
    with (root / "scripts/constraints.txt").open("a") as file:
        file.write("# one more line\n")


def _edit_pyproject(root: Path) -> None:
    with (root / "pyproject.toml").open("a") as file:
        file.write("# one more line\n")


def _stop_halfway(root: Path) -> None:
    (root / ".venv/base.stamp").unlink()


def _cut_the_stamp(root: Path) -> None:
    stamp = root / ".venv/base.stamp"
    stamp.write_text(stamp.read_text()[:-5])


def _lose_the_program(root: Path) -> None:
    (root / ".venv/bin/nccltool").unlink()


def _change_python(root: Path) -> None:
    (root / ".venv/bin/python").unlink()
    (root / ".venv/bin/python").symlink_to(_program(root.parent / "python3.12", REAL_PYTHON))


def _remove_python(root: Path) -> None:
    (root.parent / "python3.11").unlink()


def _remove_everything(root: Path) -> None:
    shutil.rmtree(root / ".venv")


@pytest.mark.parametrize(
    "change",
    [
        _edit_constraints,
        _edit_pyproject,
        _stop_halfway,
        _cut_the_stamp,
        _lose_the_program,
        _change_python,
        _remove_python,
        _remove_everything,
    ],
)
def test_an_environment_that_does_not_fit_is_not_used(checkout: Checkout, change: Callable[[Path], None]) -> None:
    change(checkout.root)
    done = checkout.run("x", NCCLTOOL_PYTHON="/nowhere/python3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: /nowhere/python3 is not there\n")


def test_a_checkout_that_was_moved_is_made_anew(checkout: Checkout, tmp_path: Path) -> None:
    moved = Checkout(checkout.root.rename(tmp_path / "moved"))
    assert moved.run("x", NCCLTOOL_PYTHON="/nowhere/python3").returncode == 2


PYTHONS = {
    "too old": (
        "#!/bin/sh\necho 3.9\n",
        "{python} is Python 3.9, and nccltool needs 3.11 or newer\n"
        "  -> name another Python: NCCLTOOL_PYTHON=/path/to/python3\n",
    ),
    "far too old": (
        "#!/bin/sh\necho 2.7\n",
        "{python} is Python 2.7, and nccltool needs 3.11 or newer\n"
        "  -> name another Python: NCCLTOOL_PYTHON=/path/to/python3\n",
    ),
    "without venv": (
        '#!/bin/sh\ncase "$2" in *ensurepip*) exit 1;; *) echo 3.12;; esac\n',
        "{python} cannot make environments (it lacks venv or ensurepip)\n"
        "  -> on Debian and Ubuntu: apt-get install python3.12-venv\n",
    ),
    "broken": (
        "#!/bin/sh\nexit 127\n",
        "{python} does not run\n  -> name another Python: NCCLTOOL_PYTHON=/path/to/python3\n",
    ),
}


@pytest.mark.parametrize(("text", "said"), PYTHONS.values(), ids=PYTHONS.keys())
def test_a_python_that_cannot_do_it_is_one_sentence(checkout: Checkout, text: str, said: str) -> None:
    _stop_halfway(checkout.root)
    python = _program(checkout.root.parent / "other python", text)
    done = checkout.run("x", NCCLTOOL_PYTHON=str(python))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "Error: " + said.format(python=python)


def test_a_pip_that_fails_shows_the_end_of_its_log(checkout: Checkout) -> None:
    _stop_halfway(checkout.root)
    lines = "\n".join(f"echo line {number}" for number in range(50))
    text = f'#!/bin/sh\ncase "$1" in -c) echo 3.11;; *)\n{lines}\nexit 1;; esac\n'
    python = _program(checkout.root.parent / "python that fails", text)
    done = checkout.run("x", NCCLTOOL_PYTHON=str(python))
    assert (done.returncode, done.stdout) == (2, "")
    assert "line 49\n" in done.stderr
    assert "line 10\n" not in done.stderr
    assert done.stderr.splitlines()[-2] == (
        "Error: the environment could not be made; the last lines are above, all of them in "
        f"{checkout.root}/.cache/environment.log"
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)])
def test_an_interrupt_ends_all_that_was_started(checkout: Checkout, number: signal.Signals, code: int) -> None:
    _stop_halfway(checkout.root)
    started = checkout.root.parent / "started"
    text = f'#!/bin/sh\ncase "$1" in -c) echo 3.11;; *) sleep 600 & echo $! >"{started}"; wait;; esac\n'
    python = _program(checkout.root.parent / "slow python", text)
    env = {"PATH": os.environ["PATH"], "NCCLTOOL_PYTHON": str(python)}
    with subprocess.Popen([checkout.command], env=env, stderr=subprocess.PIPE, text=True) as process:
        grandchild = _pid_in(started)
        process.send_signal(number)
        said = process.communicate(timeout=60)[1]
    assert process.returncode == code
    assert said.endswith("nccltool: interrupted; the next use makes the environment anew\n")
    assert _ends(grandchild)


def _ends(pid: int) -> bool:
    """Whether a process that was killed is gone, or waits for its parent to take notice."""
    for _ in range(100):
        if processes.state(pid) in ("", "Z"):
            return True
        time.sleep(0.1)
    return False


def _pid_in(file: Path) -> int:
    for _ in range(600):
        if file.exists() and file.read_text().strip():
            return int(file.read_text())
        time.sleep(0.1)
    pytest.fail("it did not start")


def test_of_two_at_once_the_second_waits_for_the_first(checkout: Checkout) -> None:
    program = (
        f'. "{checkout.root}/scripts/_env"; rm "$VENV/base.stamp";'
        'exec 9>"$ROOT/.cache/environment.lock"; flock 9;'
        "echo locked; read -r _; _write_stamp base"
    )
    (checkout.root / ".cache").mkdir()
    first = subprocess.Popen(
        ["bash", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    env = {"PATH": os.environ["PATH"], "NCCLTOOL_PYTHON": "/nowhere/python3"}
    assert first.stdin and first.stdout
    with first:
        assert first.stdout.readline() == "locked\n"
        second = subprocess.Popen(
            [checkout.command, "x"], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        with second:
            assert second.stderr
            assert second.stderr.readline() == (
                "nccltool: another command is making the environment; waiting for it\n"
            )
            first.stdin.write("\n")
            assert second.communicate(timeout=60) == ("<x>\n", "")
    assert second.returncode == 7
