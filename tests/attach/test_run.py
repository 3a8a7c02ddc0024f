"""From options to a report."""

import json
from pathlib import Path

import pytest

from nccltool.attach import run
from nccltool.attach.look import here
from nccltool.attach.look.order import JobHere, LookAnswer, LookOrder, RasQuery
from nccltool.attach.options import AttachOptions
from nccltool.attach.ras import json_document
from nccltool.attach.ras.client import RasAnswer
from nccltool.attach.seen.job import EmptyHost, HostLook, Unread
from nccltool.attach.seen.ranks import RankFound
from nccltool.core.errors import BadInput, NotJudged
from tests.attach.judge.looks import R
from tests.attach.judge.looks import look as judged_look
from tests.attach.ras.states import Communicator, Rank, State, json_of
from tests.attach.seen.looks import SHIPPED, hung


def _answer(host: str, *jobs: str, look: str = "") -> LookAnswer:
    here = tuple(JobHere(job=job, program=f"{job}.py", ranks=2, pid=7) for job in jobs)
    if not look:
        reason = f"{len(jobs)} jobs run here" if jobs else "no rank runs here"
        return LookAnswer(host=host, jobs=here, reason=reason, is_ambiguous=len(jobs) > 1)
    ranks = (RankFound(host=host, pid=7, job=look),)
    return LookAnswer(host=host, jobs=here, look=HostLook(host=host, ranks=ranks, samples=()))


def test_hosts_are_one_job() -> None:
    gone = Unread(what="n3", reason="timed out", host="n3")
    look = run.joined([_answer("n1", "a", look="a"), _answer("n2", "a", look="a"), _answer("n4")], [gone])
    assert [host.host for host in look.hosts] == ["n1", "n2"]
    assert look.unreached == (gone, Unread(what="host n4", reason="no rank runs here", host="n4"))


def test_a_host_that_was_seen_whole_has_no_rank() -> None:
    empty = EmptyHost(host="n4", reason="no rank runs here", addresses=("10.0.0.4",))
    look = run.joined([_answer("n1", "a", look="a"), LookAnswer(host="n4", reason="none", empty=empty)], ())
    assert (look.unreached, look.empty) == ((), (empty,))


def test_a_task_beside_the_ranks_is_no_job() -> None:
    task = RankFound(host="n2", pid=9, job="root slurm 4.1", known_by="scheduler")
    beside = LookAnswer(host="n2", look=HostLook(host="n2", ranks=(task,), samples=()))
    assert [host.host for host in run.joined([_answer("n1", "a", look="a"), beside], ()).hosts] == ["n1"]
    assert [host.host for host in run.joined([beside], ()).hosts] == ["n2"]


@pytest.mark.parametrize(
    ("answers", "places"),
    [
        ([_answer("n1", "a", "b")], ("n1", "n1")),
        ([_answer("n1", "a", look="a"), _answer("n2", "b", look="b")], ("n1", "n2")),
        ([_answer("n1", "a", look="a"), _answer("n2", "a", "b")], ("n2", "n2")),
    ],
)
def test_several_jobs_are_named(answers: list[LookAnswer], places: tuple[str, str]) -> None:
    with pytest.raises(BadInput) as caught:
        run.joined(answers, ())
    first, second = (f"{name}.py (2 ranks on {host}, pid 7)" for name, host in zip("ab", places, strict=True))
    assert caught.value.message == f"2 jobs run there: {first}, {second}"
    assert caught.value.remedy == "choose one with --program SCRIPT"


def test_several_jobs_on_this_host() -> None:
    with pytest.raises(BadInput) as caught:
        run.joined([_answer("n1", "a", "b")], (), is_here=True)
    assert caught.value.message == "2 jobs run here: a.py (2 ranks, pid 7), b.py (2 ranks, pid 7)"
    assert caught.value.remedy == "choose one with --program SCRIPT or --pid PID"


def test_nobody_was_seen() -> None:
    with pytest.raises(NotJudged) as caught:
        run.joined([_answer("n1")], [Unread(what="n3", reason="timed out")])
    assert caught.value.message == "no rank was seen: n3: timed out, host n1: no rank runs here"
    with pytest.raises(NotJudged) as caught:
        run.joined([_answer("n1", "a")], (), is_here=True)
    assert caught.value.remedy == "here run a.py (2 ranks, pid 7)"
    with pytest.raises(NotJudged) as caught:
        run.joined([], [Unread(what="n3", reason="timed out", missing="ssh n3 true")])
    assert caught.value.remedy == "ssh n3 true"


def test_a_saved_look_is_checked_again() -> None:
    report = run.attach(AttachOptions(from_=str(SHIPPED)), ("nccltool", "attach"))
    assert (report.answer.state, report.verdict.exit_code) == ("hung", 1)
    assert (report.info.hosts, report.info.world_size) == (("n1",), 3)


def test_two_jobs_of_one_script_are_told_apart_by_pid() -> None:
    jobs = tuple(JobHere(job=job, program="train.py", ranks=2, pid=pid) for job, pid in (("a", 7), ("b", 9)))
    answer = LookAnswer(host="n1", jobs=jobs, reason="2 jobs run here", is_ambiguous=True)
    with pytest.raises(BadInput) as caught:
        run.joined([answer], ())
    assert "train.py (2 ranks on n1, pid 7), train.py (2 ranks on n1, pid 9)" in caught.value.message
    assert caught.value.remedy == "choose one on its host, with --pid PID"


@pytest.mark.parametrize(
    ("jobs", "remedy"),
    [
        ((JobHere(job="a", program="train.py", ranks=2, pid=7),), "here run train.py (2 ranks, pid 7)"),
        ((), "name a process of a distributed job"),
    ],
)
def test_a_pid_that_is_no_rank(monkeypatch: pytest.MonkeyPatch, jobs: tuple[JobHere, ...], remedy: str) -> None:
    answer = LookAnswer(host="n1", jobs=jobs, reason="no process has pid 99")
    monkeypatch.setattr(here, "look", lambda order: answer)
    with pytest.raises(BadInput) as caught:
        run.attach(AttachOptions(pid=99), ())
    assert caught.value.message == "--pid: no process has pid 99"
    assert remedy in caught.value.remedy


def test_a_report_is_there_even_if_it_cannot_be_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (host,) = hung().hosts
    folder = tmp_path / "new"

    def look(order: object) -> LookAnswer:
        folder.rmdir()
        folder.write_text("someone was faster")
        return LookAnswer(host="n1", look=host)

    monkeypatch.setattr(here, "look", look)
    report = run.attach(AttachOptions(save=str(folder)), ())
    assert report.answer.state == "hung"
    assert report.unsaved is not None
    assert "cannot be written" in report.unsaved.message


def test_the_verdict_is_saved_with_the_look(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (host,) = hung().hosts
    monkeypatch.setattr(here, "look", lambda order: LookAnswer(host="n1", look=host))
    report = run.attach(AttachOptions(save=str(tmp_path / "new")), ())
    assert report.unsaved is None
    assert json.loads((tmp_path / "new/attach.json").read_text())["state"] == "hung"


_GPU_WAIT = (("cudaStreamSynchronize", "libtorch_cuda.so", 0), ("step", "/home/me/train.py", 9))
_STUCK = R(frames=_GPU_WAIT, threads=("python", "pt_nccl_watchdg"), idle_s=90)


def _document(*counts: int) -> RasAnswer:
    ranks = tuple(Rank(rank=rank, counts={"AllReduce": count}) for rank, count in enumerate(counts))
    state = State(name="x", communicators=(Communicator(ranks=ranks),))
    return RasAnswer(address="a", document=json_document.parse(json_of(state, "2.30.7")))


@pytest.mark.parametrize(
    ("ras", "ranks", "asked"),
    [
        ("auto", (_STUCK, _STUCK), [RasQuery(initializing=False)]),
        ("always", (_STUCK, _STUCK), [RasQuery(initializing=False, takes_risk=True)]),
        ("never", (_STUCK, _STUCK), []),
        ("auto", (R(switches=3000, idle_s=0.1),) * 2, []),  # it moves
        ("auto", (_STUCK, R(state="T")), []),  # the culprit is known
        ("auto", (R(), R()), []),  # Gloo has no RAS
    ],
)
def test_ras_is_asked_once_a_job_of_nccl_looks_stuck(
    monkeypatch: pytest.MonkeyPatch, ras: str, ranks: tuple[R, ...], asked: list[RasQuery]
) -> None:
    (host,) = judged_look(*ranks).hosts
    orders: list[LookOrder] = []

    def look(order: LookOrder) -> LookAnswer:
        orders.append(order)
        told = HostLook(host="n1", ranks=host.ranks, samples=(), ras=(_document(8, 8),))
        return LookAnswer(host="n1", look=told if order.ras else host)

    monkeypatch.setattr(here, "look", look)
    report = run.attach(AttachOptions(ras=ras), ())
    assert [order.ras for order in orders if order.ras] == asked
    assert bool(report.look.hosts[0].ras) == bool(asked)


def test_why_ras_was_not_asked_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    (host,) = judged_look(_STUCK, _STUCK).hosts
    why = Unread(what="NCCL's RAS", reason="no", host="n1")
    told = HostLook(host="n1", ranks=host.ranks, samples=(), unread=(why,))
    monkeypatch.setattr(here, "look", lambda order: LookAnswer(host="n1", look=told if order.ras else host))
    assert why in run.attach(AttachOptions(), ()).unread
