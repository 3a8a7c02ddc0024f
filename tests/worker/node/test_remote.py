"""The far end of a remote launch, as a process, with a small program in place of the one that imports torch."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from nccltool import __version__
from nccltool.core import processes
from nccltool.hosts.sources import net
from nccltool.launch import events, instructions
from nccltool.launch.instructions import Goal
from nccltool.launch.job import Job
from tests.samples import job
from tests.support.commands import until

PROGRAM = """
import os, sys, time, msgspec
from nccltool.launch import events
from nccltool.launch.job import Job
from nccltool.worker.node import remote
from nccltool.worker.channel import Channel
assert "torch" not in sys.modules
def say(text): os.write(2, (text + "\\n").encode())
def node_main(job, listening, in_fd, out_fd):
    say(f"{job.node_ranks} of {job.nodes}, {job.nproc_per_node} each, store {job.endpoint}, "
        f"{'serves' if listening else 'joins'}, {os.environ.get('NCCL_TEST')}")
MAIN
def load():
LOAD
    return node_main
remote.torch_needed.missing = lambda: MISSING
remote.RUNNER_SILENT_S = SECONDS
Job.leave_s = LEAVE_S
Job.large_files_in = os.environ["NVME"]
sys.exit(remote.main(msgspec.json.decode(sys.argv[1], type=Job), 0, 1, load))
"""
REMOTE = job(nodes=2, nproc_per_node=None, remote=True, node_ranks=(1,), env={"NCCL_TEST": "crossed"})


class Far:
    """A far end, and the runner's side of its pipes."""

    def __init__(
        self,
        wanted: Job,
        main: str,
        load: str,
        leash_s: float,
        missing: Sequence[str],
        leave_s: float,
        folder: Path,
    ) -> None:
        program = PROGRAM.replace("MAIN", _indented(main)).replace("LOAD", _indented(load))
        program = program.replace("LEAVE_S", str(leave_s))
        program = program.replace("MISSING", repr(tuple(missing)))
        self.scratch = folder / "tmp"
        self.scratch.mkdir(exist_ok=True)
        self.nvme = folder / "nvme"
        self.nvme.mkdir(exist_ok=True)
        self.stderr = folder / f"stderr-{wanted.node_ranks[0]}"
        with self.stderr.open("wb") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program.replace("SECONDS", str(leash_s)), msgspec.json.encode(wanted)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env={**os.environ, "TMPDIR": str(self.scratch), "NVME": str(self.nvme)},
            )

    def tell(self, instruction: instructions.Instruction) -> None:
        assert self.process.stdin
        self.process.stdin.write(instructions.encode(instruction))
        self.process.stdin.flush()

    def hear(self, kind: type[events.Event] = events.Node) -> Any:
        """The next event of a kind."""
        assert self.process.stdout
        while line := self.process.stdout.readline():
            event = events.decode(line.rstrip(b"\n"))
            if isinstance(event, kind):
                return event
        raise AssertionError(self.said)

    def end(self, limit_s: float = 20.0) -> int:
        """Its exit code; nothing of it is left."""
        code = self.process.wait(limit_s)
        assert [*self.scratch.iterdir(), *self.nvme.iterdir()] == []
        return code

    @property
    def said(self) -> str:
        return self.stderr.read_text()


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.splitlines())


Begin = Callable[..., Far]


@pytest.fixture
def begin(tmp_path: Path) -> Iterator[Begin]:
    started: list[Far] = []

    def start(
        wanted: Job = REMOTE,
        main: str = "return 0",
        load: str = "pass",
        leash_s: float = 60.0,
        missing: Sequence[str] = (),
        leave_s: float = 0.0,
    ) -> Far:
        started.append(Far(wanted, main, load, leash_s, missing, leave_s, tmp_path))
        return started[-1]

    yield start
    for far in started:
        with suppress(ProcessLookupError):
            far.process.kill()
        far.process.wait()
        for pipe in (far.process.stdin, far.process.stdout):
            assert pipe
            with suppress(BrokenPipeError):
                pipe.close()


def go(rank: int = 1, endpoint: str = "10.0.0.1:5") -> instructions.Go:
    return instructions.Go(nodes=2, places={1: (rank, endpoint)}, nproc_per_node=4)


def test_it_says_what_it_is_before_anything_heavy_is_imported(begin: Begin) -> None:
    far = begin(load="time.sleep(600)")
    node = far.hear()
    assert (node.node, node.host, node.host_id) == (1, socket.gethostname(), net.host_id())
    assert (node.nccltool, node.addresses, node.problem) == (__version__, net.outward_addresses(), "")
    assert node.port != node.data_port
    assert min(node.port, node.data_port) > 0


def test_the_port_that_was_asked_for(begin: Begin) -> None:
    with socket.create_server(("", 0)) as holder:
        port = holder.getsockname()[1]
        node = begin(_with_endpoint(port)).hear()
    assert (node.port, node.problem) == (0, f"cannot listen on port {port}: Address already in use")


def _with_endpoint(port: int) -> Job:
    return job(nodes=2, remote=True, node_ranks=(1,), endpoint=f"n1:{port}")


@pytest.mark.parametrize(("rank", "role"), [(0, "serves"), (1, "joins")])
def test_go_starts_the_node_in_its_place(begin: Begin, rank: int, role: str) -> None:
    far = begin(main="return 5")
    far.hear()
    far.tell(go(rank))
    assert far.end() == 5
    assert far.said == f"({rank},) of 2, 4 each, store 10.0.0.1:5, {role}, crossed\n"


def test_one_that_has_no_place_ends_in_order(begin: Begin) -> None:
    far = begin(main="say('started')")
    far.hear()
    far.tell(instructions.Go(nodes=1, places={0: (0, "x:1")}, nproc_per_node=1))
    assert (far.end(), far.said) == (0, "")


def test_what_ranks_need_and_this_python_lacks_is_told(begin: Begin) -> None:
    far = begin(load="say('imported')", missing=("torch", "numpy"))
    node = far.hear()
    assert (node.python, node.missing) == (sys.executable, ("torch", "numpy"))
    far.tell(instructions.Go(nodes=1, places={0: (0, "x:1")}, nproc_per_node=1))
    assert (far.end(), far.said) == (0, "")


def test_who_only_tries_to_reach_others_needs_no_torch(begin: Begin) -> None:
    assert begin(replace(REMOTE, kind="reach"), missing=("torch",)).hear().missing == ()


def test_an_import_that_fails_is_told_with_its_reason(begin: Begin) -> None:
    far = begin(load="raise ImportError('libcuda.so.1: cannot open')")
    far.hear()
    assert far.end() == 1
    assert far.said.endswith("ImportError: libcuda.so.1: cannot open\n")


SENT_IN_TIME = """
import ctypes, shutil
assert "torch" not in sys.modules
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
say(libc.getenv(b"NCCL_TEST").decode())  # as NCCL and CUDA read theirs
say(shutil.which("of-the-sender"))
import torch
say(f"{torch.get_num_threads()} threads")
os._exit(0)"""
SENT_TOO_LATE = """
import ctypes, importlib.util
say(str(importlib.util.find_spec("of_the_sender")))
try:
    ctypes.CDLL("libofthesender.so")
except OSError as error:
    say("cannot open" if "cannot open shared object file" in str(error) else str(error))
os._exit(0)"""


@pytest.mark.torch
def test_what_is_sent_is_there_before_libraries_are_loaded(begin: Begin, tmp_path: Path) -> None:
    """So that it may be sent: what torch, OpenMP, CUDA and NCCL read, and PATH for programs that ranks start."""
    tool = tmp_path / "of-the-sender"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    env = {"NCCL_TEST": "crossed", "OMP_NUM_THREADS": "1", "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    far = begin(replace(REMOTE, env=env), load=SENT_IN_TIME)
    assert far.end(60) == 0
    assert far.said.splitlines() == ["crossed", str(tool), "1 threads"]


@pytest.mark.torch
@pytest.mark.gpu
@pytest.mark.skipif(not Path("/dev/nvidia0").exists(), reason="no CUDA device here")
@pytest.mark.parametrize(("mask", "left"), [("", "0"), ("0", "1")])
def test_a_mask_that_is_sent_hides_gpus(begin: Begin, mask: str, left: str) -> None:
    """CUDA reads it when torch first asks."""
    load = "import torch\nsay(str(torch.cuda.device_count()))\nos._exit(0)"
    far = begin(replace(REMOTE, env={"CUDA_VISIBLE_DEVICES": mask}), load=load)
    assert far.hear().gpus == int(left)
    assert far.end(60) == 0
    assert far.said.splitlines()[-1] == left


def test_what_the_loader_and_python_read_is_sent_too_late(begin: Begin, tmp_path: Path) -> None:
    """So that it is refused (launch/remote_variables.py); set before the start, both are found."""
    (tmp_path / "of_the_sender.py").write_text("")
    library = next(
        line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/libc.so" in line
    )
    (tmp_path / "libofthesender.so").write_bytes(Path(library).read_bytes())
    env = {"LD_LIBRARY_PATH": str(tmp_path), "PYTHONPATH": str(tmp_path)}
    far = begin(replace(REMOTE, env=env), load=SENT_TOO_LATE)
    assert far.end() == 0
    assert far.said.splitlines() == ["None", "cannot open"]
    program = "import ctypes, of_the_sender; ctypes.CDLL('libofthesender.so')"
    subprocess.run([sys.executable, "-c", program], env={**os.environ, **env}, check=True)


def test_saved_reaches_rank_0_only(begin: Begin) -> None:
    """Nobody reads it elsewhere, and a pipe that is full would stop the leash."""
    far = begin(main="say(os.read(in_fd, 100).decode()); return 0")
    far.hear()
    far.tell(go(0))
    far.tell(instructions.Saved())
    assert far.end() == 0
    assert far.said.splitlines()[1:] == ['{"do":"saved"}', ""]
    other = begin(main="time.sleep(600)")
    other.hear()
    other.tell(go(1))
    for _ in range(10_000):
        other.tell(instructions.Saved())
    assert other.process.stdin
    other.process.stdin.close()
    assert other.end() == 1


def test_it_ends_with_all_of_its_own_when_the_runner_is_gone(begin: Begin) -> None:
    """Also with what ignores the end of its parent."""
    far = begin(
        main="""
if os.fork() == 0:
    say(str(os.getpid()))
time.sleep(600)"""
    )
    far.hear()
    far.tell(go())
    assert until(lambda: len(far.said.splitlines()) == 2, 20)
    stray = int(far.said.split()[-1])
    far.process.stdin.close()  # type: ignore[union-attr]
    assert far.end(4.0) == 1
    assert processes.state(stray) in ("", "Z")


SWAPPING = """
os.mkdir(job.large_files)
open(job.large_files + "/state.swp", "w").close()
say("written")
"""


@pytest.mark.parametrize("end", ["return 3", "os.kill(os.getpid(), 9)", "time.sleep(600)"])
def test_large_files_are_gone_after_every_end(begin: Begin, end: str) -> None:
    far = begin(main=SWAPPING + end)
    far.hear()
    far.tell(go())
    assert until(lambda: "written" in far.said, 20)
    assert far.process.stdin
    far.process.stdin.close()
    far.end()


def test_large_files_are_gone_when_the_leash_itself_is_killed(begin: Begin) -> None:
    far = begin(main=f"{SWAPPING}time.sleep(600)")
    far.hear()
    far.tell(go())
    assert until(lambda: len(list(far.nvme.rglob("state.swp"))) == 1, 20)
    far.process.kill()
    assert until(lambda: not any(far.nvme.iterdir()), 20)


def test_it_ends_when_the_runner_is_silent(begin: Begin) -> None:
    far = begin(load="time.sleep(600)", leash_s=0.5)
    far.hear()
    for _ in range(5):
        time.sleep(0.2)
        far.tell(instructions.Alive())
    assert far.process.poll() is None
    assert far.end() == 1
    assert far.said.startswith("no contact with the runner for ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_it_in_order(begin: Begin, number: signal.Signals) -> None:
    far = begin(load="time.sleep(600)")
    far.hear()
    far.process.send_signal(number)
    assert far.end() == 128 + number


def test_more_signals_do_not_keep_it_from_cleaning_up(begin: Begin) -> None:
    """Schedulers repeat theirs."""
    far = begin(load="time.sleep(600)")
    far.hear()
    while far.process.poll() is None:
        far.process.send_signal(signal.SIGTERM)
    assert far.end() == 143


LEAVES = """
import signal
signal.signal(signal.SIGTERM, lambda *_: say("told"))
say("ready")
signal.pause()
time.sleep(0.2)
return 0"""


@pytest.mark.parametrize("by", ["signal", "instruction"])
def test_ranks_that_have_time_to_leave_are_told_and_waited_for(begin: Begin, by: str) -> None:
    far = begin(main=LEAVES, leave_s=60.0)
    far.hear()
    far.tell(go())
    assert until(lambda: far.said.endswith("ready\n"), 20)
    if by == "signal":
        far.process.send_signal(signal.SIGTERM)
    else:
        far.tell(instructions.Leave())
    assert far.end() == 0
    assert far.said.endswith("ready\ntold\n")


def test_before_any_rank_is_started_there_is_nobody_to_wait_for(begin: Begin) -> None:
    far = begin(load="time.sleep(600)", leave_s=60.0)
    far.hear()
    far.process.send_signal(signal.SIGTERM)
    assert far.end() == 143


def test_a_node_process_that_is_killed_is_told(begin: Begin) -> None:
    far = begin(main="say(str(os.getpid())); time.sleep(600)")
    far.hear()
    far.tell(go())
    assert until(lambda: len(far.said.splitlines()) == 2, 20)
    os.kill(int(far.said.split()[-1]), signal.SIGKILL)
    assert far.hear(events.AgentKilled) == events.AgentKilled(node_rank=1, host=socket.gethostname(), code=-9)
    assert far.end() == 9


def test_when_the_leash_itself_is_killed_the_kernel_ends_the_rest(begin: Begin) -> None:
    far = begin(main="say(str(os.getpid())); time.sleep(600)")
    far.hear()
    far.tell(go())
    assert until(lambda: len(far.said.splitlines()) == 2, 20)
    far.process.kill()
    assert until(lambda: processes.state(int(far.said.split()[-1])) in ("", "Z"), 20)


def address(node: events.Node) -> str:
    """Where a node of this host listens."""
    return node.addresses[0] if node.addresses else "127.0.0.1"


def test_only_the_right_answer_counts(begin: Begin) -> None:
    """Of four goals: the other node, this node under its number, another program, and a port where nobody is."""
    far = begin(load="time.sleep(600)")
    other = begin(job(nodes=2, remote=True, node_ranks=(0,)), load="time.sleep(600)")
    mine, its = far.hear(), other.hear()
    here = address(its)
    with socket.create_server(("", 0)) as nobody:
        closed = nobody.getsockname()[1]
    goals = tuple(
        Goal(node=0, port=port, addresses=(here, "no-such-name.invalid"))
        for port in (its.port, its.data_port, mine.port, closed)
    )
    far.tell(instructions.Try(goals={1: goals, 0: ()}))
    reached = {event.port: event for event in (far.hear(events.Reached) for _ in goals)}
    for port in (its.port, its.data_port):
        assert (reached[port].node, reached[port].goal, reached[port].addresses) == (1, 0, (here,))
        assert [failure.partition(":")[0] for failure in reached[port].failures] == ["no-such-name.invalid"]
    assert reached[mine.port].addresses == reached[closed].addresses == ()
    assert reached[mine.port].failures[0] == f"{here}: another host or program answered"
    assert reached[closed].failures[0] == f"{here}: Connection refused"


def test_they_call_each_other_again_while_ranks_run_and_after_these_failed(begin: Begin) -> None:
    """A path that breaks in mid-run is tried by the same ends; one whose ranks failed waits for that."""
    far = begin(main="time.sleep(600)")
    other = begin(job(nodes=2, remote=True, node_ranks=(0,)), main="return 1")
    its = (far.hear(), other.hear())[1]
    for one in (far, other):
        one.tell(instructions.Go(nodes=2, places={1: (1, "x:1"), 0: (0, "x:1")}, nproc_per_node=1))
    assert until(lambda: "joins" in far.said and "serves" in other.said, 20)
    far.tell(instructions.TryAgain(goals={1: (Goal(node=0, port=its.data_port, addresses=(address(its),)),)}))
    reached = far.hear(events.Reached)
    assert (reached.goal, reached.addresses, reached.failures) == (0, (address(its),), ())
    assert far.hear(events.HalfOpen) == events.HalfOpen(node=1, callers=())
    assert other.process.poll() is None
    other.process.stdin.close()  # type: ignore[union-attr]
    assert other.process.wait(20.0) == 1


def test_a_node_without_addresses_is_reached_nowhere(begin: Begin) -> None:
    far = begin(load="time.sleep(600)")
    far.hear()
    far.tell(instructions.Try(goals={1: (Goal(node=0, port=1, addresses=()),)}))
    nowhere = ("it has no address that other hosts can reach",)
    assert far.hear(events.Reached) == events.Reached(node=1, goal=0, port=1, addresses=(), failures=nowhere)


def test_a_worker_without_a_job_ends_quietly() -> None:
    argv = (sys.executable, "-P", "-m", "nccltool.worker")
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
