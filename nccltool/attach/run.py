"""From the options of `nccltool attach` to its report: looks at all hosts at once, and judges what they saw."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from nccltool.attach import saved
from nccltool.attach.document import to_json
from nccltool.attach.look import here
from nccltool.attach.look.longer import SPAN_S
from nccltool.attach.look.order import JobHere, LookAnswer, LookOrder, RasQuery
from nccltool.attach.options import AttachOptions, checked, look_order
from nccltool.attach.reach import asking, kubernetes, slurm, ssh
from nccltool.attach.reach.asking import FarCommand
from nccltool.attach.report import AttachReport, report
from nccltool.attach.seen.job import HostLook, JobLook, Unread
from nccltool.core.errors import BadInput, NotJudged, ResultNotWritten
from nccltool.core.text import counted, listed
from nccltool.launch.named_hosts import named_hosts
from nccltool.launch.reach import ssh_client

_RAS_S = 60.0
"""Two queries of up to 25 s each."""
_NATIVE_MOST = 3
"""Suspects whose native frames are read: each is stopped for up to two seconds."""


class RanksGone(NotJudged):
    """All hosts were seen whole, and none has a rank of the job."""


def attach(options: AttachOptions, command: tuple[str, ...]) -> AttachReport:
    """Look at a job and say what it does. Raises BadInput, NotJudged."""
    options = checked(options)
    if options.from_ is not None:
        return report(saved.load(options.from_), command, is_live=False)
    if options.save is not None:
        saved.check(options.save)
    order = look_order(options)
    found = with_ras(options, report(looked(options, order), command), command)
    if options.native and (suspects := _suspects(found)):
        again = LookOrder(job=_job(found.look), interval_s=order.interval_s, native=suspects)
        native = looked(options, again)
        answered = {host.host: host.ras for host in found.look.hosts}
        hosts = tuple(replace(host, ras=answered.get(host.host, ())) for host in native.hosts)
        found = report(replace(native, hosts=hosts), command)
    return found if options.save is None else _kept(options.save, found)


def _kept(folder: str, found: AttachReport) -> AttachReport:
    """A report is shown even if its look cannot be saved."""
    try:
        saved.save(folder, found.look, to_json(found))
    except ResultNotWritten as error:
        return replace(found, unsaved=error)
    return found


_RAS_TRIES = 2
"""Hosts that are asked one after the other: each answers for the whole job."""


def with_ras(options: AttachOptions, found: AttachReport, command: tuple[str, ...]) -> AttachReport:
    """Where the job waits in NCCL and nobody is named for certain: with what RAS says."""
    if options.ras == "never" or options.debug_container or not found.answer.ras_would_help:
        return found  # another look would add another container to a pod
    query = RasQuery(initializing=found.answer.initializing, takes_risk=options.ras == "always")
    order = LookOrder(job=_job(found.look), ras=query)
    look = found.look
    for answer in _ras_answers(options, order, look):
        if answer.look is not None:
            look = replace(look, hosts=tuple(_joined_ras(host, answer.look) for host in look.hosts))
            if any(one.document for one in answer.look.ras):
                break
    return report(look, command)


def _ras_answers(options: AttachOptions, order: LookOrder, look: JobLook) -> Iterator[LookAnswer]:
    lost = {one.host for one in look.unreached}
    reached = [one for one in commands(options, is_one=True) if one.name not in lost]
    if not reached:
        yield here.look(order)
    for command in reached[:_RAS_TRIES]:
        answers, _ = asking.ask([command], order, options.host_timeout + _RAS_S)
        yield from answers


def _joined_ras(host: HostLook, told: HostLook) -> HostLook:
    if host.host != told.host:
        return host
    return replace(host, ras=told.ras, unread=(*host.unread, *told.unread))


def looked(options: AttachOptions, order: LookOrder) -> JobLook:
    """What all hosts saw of one job. Raises BadInput, NotJudged."""
    reached = commands(options)
    if not reached:
        answer = here.look(order)
        if options.pid is not None and answer.look is None and not answer.is_ambiguous:
            raise BadInput(f"--pid: {answer.reason}", _of_pid(answer))
        return joined([answer], (), is_here=True)
    answers, unreached = asking.ask(
        reached, order, options.host_timeout + order.interval_s * order.samples + SPAN_S
    )
    return joined(answers, unreached)


def commands(options: AttachOptions, is_one: bool = False) -> Sequence[FarCommand]:
    """That look at other hosts; () = this host. `is_one`: one node is enough, where one reaches several."""
    if options.start.has_hosts:
        return ssh.commands(named_hosts(options.start), ssh_client.program(options.start), options.remote_python)
    if options.job is not None:
        return slurm.commands(options.job, options.remote_python, is_one=is_one)
    if options.kubernetes is not None:
        return kubernetes.commands(
            options.kubernetes, options.container, options.remote_python, options.debug_container
        )
    return ()


def joined(answers: Sequence[LookAnswer], unreached: Sequence[Unread], *, is_here: bool = False) -> JobLook:
    """The looks of hosts together. `is_here`: it is this host only.

    Raises BadInput where several jobs run, NotJudged where none was seen.
    """
    looks = tuple(_without_tasks([answer.look for answer in answers if answer.look is not None]))
    jobs = dict.fromkeys(rank.job for look in looks for rank in look.ranks)
    if len(jobs) > 1 or any(answer.is_ambiguous for answer in answers):
        raise _several(answers, is_here)
    silent = tuple(
        Unread(what=f"host {answer.host}", reason=answer.reason, host=answer.host)
        for answer in answers
        if answer.look is None and (answer.empty is None or not looks)
    )
    if not looks:
        reasons = dict.fromkeys(f"{one.what}: {one.reason}" for one in (*unreached, *silent))
        is_over = not unreached and all(answer.empty is not None for answer in answers)
        kind = RanksGone if is_over else NotJudged
        if is_here:
            raise kind(answers[0].reason, _elsewhere(answers[0].jobs))
        remedy = next((one.missing for one in unreached if one.missing), "")
        raise kind(f"no rank was seen: {listed(reasons)}", remedy or _elsewhere(()))
    empty = tuple(answer.empty for answer in answers if answer.empty is not None)
    return JobLook(hosts=looks, unreached=(*unreached, *silent), empty=empty)


def _without_tasks(looks: Sequence[HostLook]) -> Sequence[HostLook]:
    """A host that has only tasks of a scheduler which may be no ranks, where others have ranks of another job."""
    sure = {rank.job for look in looks for rank in look.ranks if rank.known_by != "scheduler"}
    return [look for look in looks if not sure or any(rank.job in sure for rank in look.ranks)]


def _several(answers: Sequence[LookAnswer], is_here: bool) -> BadInput:
    every = {job.job: (job, answer.host) for answer in answers for job in answer.jobs}
    told = [_told(job, "" if is_here else f" on {host}") for job, host in every.values()]
    differ = len({job.program for job, _ in every.values()}) == len(every)
    there = "here" if is_here else "there"
    if is_here:
        remedy = "choose one with --program SCRIPT or --pid PID" if differ else "choose one with --pid PID"
    else:
        remedy = "choose one with --program SCRIPT" if differ else "choose one on its host, with --pid PID"
    return BadInput(f"{len(every)} jobs run {there}: {listed(told)}", remedy)


def _elsewhere(jobs: Sequence[JobHere]) -> str:
    if jobs:
        return f"here run {listed(map(_told, jobs))}"
    return "run it where the job runs, as its user or as root, or name the hosts: --hosts, --job, --kubernetes"


def _of_pid(answer: LookAnswer) -> str:
    if answer.jobs:
        return f"name a rank, or torchrun itself; here run {listed(map(_told, answer.jobs))}"
    return "name a process of a distributed job that this user may see, or other hosts with --hosts"


def _told(job: JobHere, where: str = "") -> str:
    return f"{job.program or 'a program'} ({counted(job.ranks, 'rank')}{where}, pid {job.pid})"


def _job(look: JobLook) -> str:
    return next((rank.job for _, rank in look.ranks()), "")


def _suspects(found: AttachReport) -> tuple[int, ...]:
    named = (culprit.rank for culprit in found.answer.culprits)
    return tuple(dict.fromkeys(rank for rank in named if rank is not None))[:_NATIVE_MOST]
