"""What /proc says of a process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nccltool.attach.look import process
from nccltool.hosts.sources.base import Tree

_STAT = f"40 (python) D 7 {'0 ' * 9}250 50 {'0 ' * 30}"


def _tree(root: Path, **files: str) -> Tree:
    folder = root / "proc/40"
    (folder / "task/40").mkdir(parents=True)
    (folder / "task/41").mkdir()
    (folder / "fd").mkdir()
    (folder / "fd/7").symlink_to("/data/train.bin")
    (folder / "stat").write_text(_STAT)
    (folder / "status").write_text("Name:\tpython\nTracerPid:\t0\nThreads:\t2\nVmRSS:\t   12 kB\n")
    (folder / "task/40/status").write_text("voluntary_ctxt_switches:\t9\nnonvoluntary_ctxt_switches:\t3\n")
    (folder / "task/40/stat").write_text(_STAT)
    (folder / "task/40/schedstat").write_text("100 2500000000 7\n")
    (folder / "task/40/comm").write_text("python\n")
    (folder / "task/41/comm").write_text("gloo_tcp_loop\n")
    for name, text in files.items():
        (folder / name).write_text(text)
    return Tree(str(root))


def test_a_rank_that_reads(tmp_path: Path) -> None:
    number = "0" if os.uname().machine == "x86_64" else "63"
    tree = _tree(
        tmp_path,
        io="rchar: 1\nwchar: 2\nread_bytes: 3\nwrite_bytes: 4\n",
        **{
            "task/40/wchan": "folio_wait_bit_common",
            "task/40/syscall": f"{number} 0x7 0x1 0x2 0x0 0x0 0x0 0x7f 0x7f",
            "task/40/stack": "[<0>] folio_wait_bit_common+0x1/0x2\n[<0>] nfs_file_read+0x1/0x2\n",
        },
    )
    one = process.state(40, tree)
    assert one is not None
    tick = 1 / os.sysconf("SC_CLK_TCK")
    assert (one.state, one.parent, one.main_voluntary_switches, one.run_delay_s) == ("D", 7, 9, 2.5)
    assert one.cpu_s == one.main_cpu_s == pytest.approx(300 * tick)
    assert (one.rchar, one.wchar, one.read_bytes, one.write_bytes) == (1, 2, 3, 4)
    assert (one.waits_in, one.waits_on) == ("folio_wait_bit_common", "/data/train.bin")
    assert one.kernel_stack == ("folio_wait_bit_common", "nfs_file_read")
    assert (one.threads, one.threads_count, one.memory_bytes) == (("python", "gloo_tcp_loop"), 2, 12 * 1024)


def test_what_another_user_may_not_read_is_unknown(tmp_path: Path) -> None:
    one = process.state(40, _tree(tmp_path, **{"task/40/wchan": "0"}))
    assert one is not None
    assert (one.rchar, one.waits_in, one.waits_on, one.syscall, one.kernel_stack) == (None, "", "", "", ())


@pytest.mark.parametrize(
    ("thread", "switches"),
    [(None, 9), (40, 9), (1, 9), (41, 7), (8, 7), (0, None)],
    ids=["main", "named", "main in a PID namespace", "another", "another in a PID namespace", "none"],
)
def test_counters_are_of_the_thread_that_trains(tmp_path: Path, thread: int | None, switches: int | None) -> None:
    inner = thread in (1, 8)
    numbers = ("NSpid:\t40\t1\n", "NSpid:\t41\t8\n") if inner else ("NSpid:\t40\n", "NSpid:\t41\n")
    tree = _tree(tmp_path, **{"task/41/status": f"{numbers[1]}voluntary_ctxt_switches:\t7\n"})
    with (tmp_path / "proc/40/status").open("a") as status:
        status.write(numbers[0])
    one = process.state(40, tree, thread)
    assert one is not None
    assert one.main_voluntary_switches == switches


def test_a_process_that_is_gone(tmp_path: Path) -> None:
    assert process.state(41, _tree(tmp_path)) is None


def test_all_levels_of_children() -> None:
    program = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'input()'], stdin=0)"
    started = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)
    try:
        found: list[int] = []
        while len(found) < 1 and started.poll() is None:
            found = list(process.below(started.pid, Tree()))
        assert started.pid in process.below(os.getpid(), Tree())
        assert set(found) <= set(process.below(os.getpid(), Tree()))
    finally:
        started.communicate(b"\n")
