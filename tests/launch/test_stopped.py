"""Which processes of a run are stopped, and how that is said of them."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from functools import partial

import pytest

from nccltool.core import processes
from nccltool.core.findings import Subject
from nccltool.launch import blame, events, stopped
from nccltool.launch.events import Event
from nccltool.launch.stopped import StoppedProcess
from tests.launch.test_blame import STARTED, TIMING, after, died, echo, raised
from tests.support.commands import until

CHAIN = """
import os, sys, time
depth = int(sys.argv[1])
if depth:
    os.spawnl(os.P_NOWAIT, sys.executable, sys.executable, "-c", sys.argv[2], str(depth - 1), sys.argv[2])
time.sleep(60)
"""
LIMIT_S = 20.0


def line_of(root: int) -> list[int]:
    """A process, its child, and so on."""
    below = processes.children(root)
    return [root, *(line_of(below[0]) if below else [])]


@pytest.fixture
def four() -> Iterator[list[int]]:
    """Node process, agent, supervisor and rank."""
    root = subprocess.Popen([sys.executable, "-c", CHAIN, "3", CHAIN], start_new_session=True)
    try:
        assert until(lambda: len(line_of(root.pid)) == 4, LIMIT_S)
        yield line_of(root.pid)
    finally:
        os.killpg(root.pid, signal.SIGKILL)
        root.wait()


def stop(pid: int) -> None:
    os.kill(pid, signal.SIGSTOP)
    assert until(lambda: processes.state(pid) in processes.STOPPED, LIMIT_S)


@pytest.mark.parametrize(("place", "role"), list(enumerate(["node process", "agent", "supervisor"])))
def test_what_is_stopped_above_a_rank(four: list[int], place: int, role: stopped.Role) -> None:
    assert stopped.of_node(four[0], has_agents=True) == ()
    stop(four[place])
    found = stopped.of_node(four[0], has_agents=True)
    assert found == (StoppedProcess(pid=four[place], role=role, below=(four[place + 1],)),)


def test_of_a_stopped_rank_its_supervisor_tells(four: list[int]) -> None:
    stop(four[3])
    assert stopped.of_node(four[0], has_agents=True) == ()


def test_without_agents_the_node_process_starts_supervisors(four: list[int]) -> None:
    stop(four[1])
    assert [one.role for one in stopped.of_node(four[0], has_agents=False)] == ["supervisor"]


def test_a_connection(four: list[int]) -> None:
    stop(four[1])
    assert stopped.of_connection(four[0], "n2") == ()
    stop(four[0])
    (found,) = stopped.of_connection(four[0], "n2")
    assert (found.pid, found.role, found.towards) == (four[0], "connection", "n2")


def test_a_watchdog(four: list[int]) -> None:
    """What is below it tells of it."""
    stop(four[1])
    assert stopped.of_watchdog(four[0]) == ()
    stop(four[0])
    (found,) = stopped.of_watchdog(four[0])
    assert (found.pid, found.role) == (four[0], "watchdog")


def test_the_process_that_counts_is_no_agent(four: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "name", lambda pid: stopped.COUNTING if pid == four[1] else "python")
    stop(four[1])
    assert stopped.of_node(four[0], has_agents=True) == ()


def test_only_changes_are_told() -> None:
    one = (StoppedProcess(pid=7, role="agent"),)
    looks = iter([(), one, one, ()])
    watch = stopped.Watch(partial(next, looks))
    assert [watch.changed(now) for now in (1.0, 1.5, 2.1, 3.2, 4.3)] == [None, None, one, None, ()]


def said(role: stopped.Role, below: tuple[int, ...] = (), towards: str = "") -> events.Stopped:
    one = StoppedProcess(pid=7, role=role, below=below, towards=towards)
    return events.Stopped(node=1, host="beta", processes=(one,))


HOST, LINK = Subject(kind="host", name="beta"), Subject(kind="link", name="beta - n9")


@pytest.mark.parametrize(
    ("event", "subject", "who"),
    [
        (said("node process"), HOST, "the node process on beta (pid 7)"),
        (said("agent", (9,)), HOST, "the agent on beta (pid 7)"),
        (said("supervisor", (1002,)), Subject(kind="rank", name="2"), "the supervisor of rank 2 on beta (pid 7)"),
        (said("supervisor"), HOST, "the supervisor on beta (pid 7)"),
        (said("connection", towards="n9"), LINK, "the connection to n9 on beta (pid 7)"),
        (said("watchdog"), HOST, "the watchdog on beta (pid 7)"),
    ],
)
def test_what_is_stopped_is_the_culprit_of_a_standstill(event: events.Stopped, subject: Subject, who: str) -> None:
    found = blame.after_timeout(after(TIMING, [event]), 8.0)
    assert (found.code, found.severity, found.subject) == ("process-stopped", "error", subject)
    assert found.message == f"{who} is stopped (state T): something sent it SIGSTOP; nothing moved for 8 s"


def test_what_runs_again_is_not() -> None:
    resumed = events.Stopped(node=1, host="beta")
    assert blame.after_timeout(after(TIMING, [said("agent"), resumed]), 8.0).code != "process-stopped"


def test_each_that_looks_tells_of_its_own() -> None:
    of_supervisor = events.Stopped(
        node=1, host="beta", processes=(StoppedProcess(pid=7, role="watchdog"),), watcher="supervisor"
    )
    found = blame.after_timeout(after(TIMING, [of_supervisor, events.Stopped(node=1, host="beta")]), 8.0)
    assert found.message.startswith("the watchdog on beta (pid 7) is stopped")


def test_that_something_is_stopped_is_no_progress() -> None:
    assert after(STARTED, [said("agent")]).progress_at == after(STARTED).progress_at


UNSAVED = "TimeoutError: the runner did not save the result in time"
RESUMED = events.Stopped(node=1, host="beta")


@pytest.mark.parametrize(
    ("happened", "named"),
    [
        ([said("connection", towards="n9"), *echo(0)], LINK),
        ([said("connection", towards="n9"), RESUMED, *raised(2, UNSAVED), *echo(0)], LINK),
        ([said("agent"), *died(3, -9), *echo(0)], Subject(kind="rank", name="3")),
        ([said("agent"), *echo(0), *died(3, -15)], Subject(kind="rank", name="3")),
        ([*echo(0), said("agent")], blame.ALL_RANKS),
    ],
)
def test_ranks_that_only_echo_gave_up_for_what_was_stopped(happened: list[Event], named: Subject) -> None:
    found = blame.after_fault(after(TIMING, happened))
    assert found is not None
    assert found.subject == named


def test_what_went_on_long_before_a_fault_did_not_cause_it() -> None:
    run = after(TIMING, [said("agent"), RESUMED])
    for event in echo(0):
        run.apply(event, 60.0)
    assert not run.stopped_at_fault
