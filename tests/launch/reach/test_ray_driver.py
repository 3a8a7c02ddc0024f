"""The driver of Ray with a small stand-in for Ray (fake_ray), whose actors are objects in the same process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from nccltool.launch.reach import ray_driver

FAKE = Path(__file__).parent / "fake_ray"
LIMIT_S = 60.0


def driver(*words: str, code: str = "", **env: str) -> "subprocess.Popen[str]":
    pipe = subprocess.PIPE
    argv = (sys.executable, "-P", *(("-c", code) if code else (ray_driver.__file__, *words)))
    with_fake = {**os.environ, "PYTHONPATH": str(FAKE), **env}
    return subprocess.Popen(argv, env=with_fake, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def program(folder: Path, script: str) -> str:
    """What a node starts in place of Python."""
    file = folder / "node"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(file)


def test_nodes_are_printed_as_ray_says_them() -> None:
    with driver("nodes", FAKE_RAY_NODES='[{"NodeID": "a"}]') as process:
        out, err = process.communicate(timeout=LIMIT_S)
    assert (out, err) == ('[{"NodeID": "a"}]', "")


def test_input_goes_to_all_nodes_and_whole_lines_come_back(tmp_path: Path) -> None:
    node = program(tmp_path, f'while read line; do printf "${ray_driver.NODE_VARIABLE} "; echo "$line"; done')
    with driver("--python", node, "run", "a:0:n1", "b:0:n2") as process:
        out, err = process.communicate("one\ntwo\n", timeout=LIMIT_S)
        assert (sorted(out.splitlines()), err, process.returncode) == (["0 one", "0 two", "1 one", "1 two"], "", 0)


@pytest.mark.parametrize(
    ("script", "code", "complaint"),
    [
        ("echo lacking >&2; exit 3", 1, "n1: its process ended with exit code 3"),
        ("kill -KILL $$", 1, "n1: its process was killed by SIGKILL"),
        ("echo event; exit 3", 1, ""),  # its events tell why
        ("exit 0", 0, ""),
    ],
)
def test_ends_of_a_node(tmp_path: Path, script: str, code: int, complaint: str) -> None:
    with driver("--python", program(tmp_path, script), "run", "a:0:n1") as process:
        assert process.wait(LIMIT_S) == code
        assert process.stdin
        assert process.stderr
        process.stdin.close()
        said = [line for line in process.stderr.read().splitlines() if line != "lacking"]
        assert said == ([f"{ray_driver.COMPLAINT}: {complaint}"] if complaint else [])


def test_a_node_without_the_python_is_named_without_the_traceback(tmp_path: Path) -> None:
    with driver("--python", str(tmp_path / "none"), "run", "a:0:n1") as process:
        assert process.wait(LIMIT_S) == 1
        assert process.stderr
        first, *_ = process.stderr.read().splitlines()
        assert first.startswith(
            f"{ray_driver.COMPLAINT}: n1: FileNotFoundError: [Errno 2] No such file or directory"
        )


def test_sigterm_closes_the_input_of_the_nodes(tmp_path: Path) -> None:
    with driver("--python", program(tmp_path, "echo ready; cat; echo closed"), "run", "a:0:n1") as process:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "closed\n"
        assert process.wait(LIMIT_S) == 0


def test_a_node_that_ray_does_not_start_is_named() -> None:
    code = (
        f"import sys; from importlib import util; s = util.spec_from_file_location('d', {ray_driver.__file__!r});"
        "d = sys.modules['d'] = util.module_from_spec(s); s.loader.exec_module(d); d.COMES_S = d._ENDS_S = 0.5;"
        "sys.exit(d.main(['run', 'full:8:n2']))"
    )
    with driver(code=code) as process:
        assert process.stdin
        assert process.stderr
        assert process.stderr.readline().startswith(f"{ray_driver.COMPLAINT}: n2: Ray started no process there")
        process.stdin.close()
        assert process.wait(LIMIT_S) == 1
