"""JUDGE the GPUs of those who came: NCCL or Gloo and why, and what speaks against the one that was chosen."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from nccltool.core.findings import Finding, FindingKind, Subject
from nccltool.core.host_lists import fold
from nccltool.core.text import named
from nccltool.launch import finding_kinds
from nccltool.launch.events import GpuCause, GpuProblem, RankFacts
from nccltool.launch.gpu_shares import PERMISSION, PERMITTED_SINCE
from nccltool.launch.job import Job
from nccltool.launch.rank_agreement import is_emulated

_SHOWN = 8
"""Ranks: an event must fit 4 KiB."""
_EACH = 4
"""Hosts that have a finding of their own; more with the same trouble are one finding."""
_LONGEST = 120
"""Of host names in few letters."""
_ON_CPUS = "or measure on CPUs: --backend gloo"
_REMEDIES: dict[GpuCause, str] = {
    "torch": f"install a torch built for these GPUs (pytorch.org/get-started/locally); {_ON_CPUS}",
    "driver": "update the driver (a container needs libcuda from the host), or install a torch build that "
    "supports it; "
    f"{_ON_CPUS}",
    "hidden": f"set the same GPU masks on all ranks: check the launcher's options and wrappers; {_ON_CPUS}",
    "cuda": f"run on that host: nvidia-smi (or amd-smi), dmesg | grep -i -E 'NVRM|Xid|amdgpu'; {_ON_CPUS}",
}
_Hosts = Mapping[str, Sequence[RankFacts]]


def choose_backend(job: Job, ranks: Sequence[RankFacts]) -> tuple[str, str]:
    """(backend, why this one). GPUs that cannot be used are findings, and no reason to take Gloo."""
    if job.backend != "auto":
        return job.backend, f"requested with --backend {job.backend}"
    for here in _by_host(ranks).values():
        if _sharing(here) and (gpus := _too_few(job, here)):
            return "gloo", f"{_few(gpus, here)}, but {here[0].library} needs one per rank"
    lacking = [facts for facts in ranks if facts.gpu is None or facts.nccl is None]
    if lacking:
        return "gloo", _why_gloo(lacking, len(ranks))
    return "nccl", f"every rank has a GPU and {ranks[0].library}{_how_shared(ranks)}"


def problems(job: Job, backend: str, ranks: Sequence[RankFacts]) -> tuple[Finding, ...]:
    """What keeps the ranks from being measured over this backend, or over the GPUs that were counted."""
    if job.backend == "gloo":
        return ()
    found = *_unusable(ranks), *(_duplicates(job, ranks) if backend == "nccl" else ())
    return found or (tuple(_unavailable(ranks)) if backend == "nccl" else ())


def unusable(facts: RankFacts, problem: GpuProblem) -> Finding:
    """The GPU of a rank that looked well, and failed when it was taken into use."""
    return _kind(problem).finding(
        subject=Subject(kind="rank", name=str(facts.rank)),
        message=f"rank {facts.rank} on {facts.host} cannot use its GPU ({facts.gpu}): {problem.text}",
        remedy=_REMEDIES[problem.cause],
    )


def _why_gloo(lacking: Sequence[RankFacts], world_size: int) -> str:
    first = lacking[0]
    if first.gpu is not None:
        return f"rank {first.rank} on {first.host} has a torch built without {first.library}"
    if len(lacking) < world_size:
        return f"rank {first.rank} on {first.host} has no CUDA device"
    hidden = {facts.gpu_problem.text for facts in lacking if facts.gpu_problem}
    return f"no rank has a CUDA device{f': {min(hidden)}' if hidden else ''}"


def _how_shared(ranks: Sequence[RankFacts]) -> str:
    if _sharing(ranks, permitted=True):
        return f", and {PERMISSION} lets ranks share a GPU"
    gpus = ranks[0].gpus
    nodes = len({facts.node_rank for facts in ranks})
    if not is_emulated(ranks) or not gpus or nodes > gpus:
        return ""
    return f": each of the {nodes} nodes has {gpus // nodes} of the {gpus} GPUs"


def _by_host(ranks: Iterable[RankFacts]) -> _Hosts:
    hosts: dict[str, list[RankFacts]] = defaultdict(list)
    for facts in ranks:
        hosts[facts.host_id].append(facts)
    return hosts


def _sharing(ranks: Iterable[RankFacts], permitted: bool = False) -> dict[str, list[RankFacts]]:
    """GPU -> the ranks that have it, where they are several and NCCL does not permit it; or does."""
    owners: dict[tuple[str, str], list[RankFacts]] = defaultdict(list)
    for facts in ranks:
        if facts.gpu is not None:
            owners[facts.host_id, facts.gpu].append(facts)
    several = {gpu: some for (_, gpu), some in owners.items() if len(some) > 1}
    return {
        gpu: some for gpu, some in several.items() if all(one.permits_shared_gpus for one in some) is permitted
    }


def _too_few(job: Job, here: Sequence[RankFacts]) -> int | None:
    """How many GPUs a host has, where it has fewer than ranks. For the ranks of a launcher those that are hidden
    count too: it may have given the same one to all by mistake. For ours, where torch has some
    that nobody counted: those."""
    gpus = here[0].gpus if job.node_ranks else here[0].gpus_of_host
    if job.node_ranks and gpus == 0:
        gpus = len({facts.gpu for facts in here} - {None})
    return gpus if gpus and gpus < len(here) else None


def _few(gpus: int, here: Sequence[RankFacts]) -> str:
    return f"{here[0].host} has {gpus} GPU{'s' if gpus > 1 else ''} for {len(here)} ranks"


def _duplicates(job: Job, ranks: Sequence[RankFacts]) -> Iterator[Finding]:
    for here in _by_host(ranks).values():
        sharing = _sharing(here)
        if sharing and (gpus := _too_few(job, here)):
            yield finding_kinds.DUPLICATE_GPU.finding(
                subject=Subject(kind="host", name=here[0].host),
                message=f"{_few(gpus, here)}, but {here[0].library} needs one per rank",
                remedy="start fewer ranks there or measure on CPUs: --backend gloo; "
                f"to share GPUs, set {PERMISSION}=1 (NCCL {PERMITTED_SINCE} or later)",
            )
            continue
        for gpu, some in sharing.items():
            who = named((str(facts.rank) for facts in some), _SHOWN)
            yield finding_kinds.DUPLICATE_GPU.finding(
                subject=Subject(kind="device", name=gpu),
                message=f"ranks {who} on {some[0].host} share one GPU ({gpu})",
                remedy="start at most one rank per GPU and check CUDA_VISIBLE_DEVICES",
            )


def _unavailable(ranks: Sequence[RankFacts]) -> Iterator[Finding]:
    for facts in [facts for facts in ranks if facts.gpu is None or facts.nccl is None][:1]:
        problem = facts.gpu_problem
        lack = f"it has no CUDA device{f': {problem.text}' if problem else ''}"
        yield finding_kinds.BACKEND_UNAVAILABLE.finding(
            subject=Subject(kind="rank", name=str(facts.rank)),
            message=f"rank {facts.rank} on {facts.host} cannot use {facts.library}: "
            + (lack if facts.gpu is None else f"its torch has no {facts.library}"),
            remedy="use --backend gloo or auto, fewer ranks per node, or a torch built for CUDA",
        )


def _unusable(ranks: Sequence[RankFacts]) -> Iterator[Finding]:
    """GPUs that were counted and cannot be used: by host, or by rank where others of the host can use theirs."""
    hide_all = not any(facts.gpus or facts.gpu for facts in ranks)  # then they are meant to be hidden
    hosts = _by_host(ranks)
    by_text: dict[str, list[str]] = defaultdict(list)
    for host, here in hosts.items():
        cannot = [one for one in here if one.gpu_problem and not (hide_all and one.gpu_problem.cause == "hidden")]
        if cannot:
            by_text[f"{cannot[0].gpu_problem} {len(cannot)} of {len(here)}"].append(host)
    healthy = len(hosts) - sum(map(len, by_text.values()))
    for alike in by_text.values():
        for some in [alike] if len(alike) > _EACH else [[host] for host in alike]:
            yield _of_hosts([hosts[host] for host in some], healthy)


def _of_hosts(hosts: Sequence[Sequence[RankFacts]], healthy: int) -> Finding:
    """What hosts with the same trouble have; of one where other ranks are well, the ranks are named."""
    here = hosts[0]
    cannot = [facts for facts in here if facts.gpu_problem]
    problem, name = cannot[0].gpu_problem, _names(some[0].host for some in hosts)
    assert problem is not None
    subject, who = _whom(here, cannot, name)
    well = [f"the other {len(here) - len(cannot)} ranks there can use theirs"] if len(cannot) < len(here) else []
    well += [f"{healthy} other host{'s' if healthy > 1 else ''} can use theirs"] if healthy else []
    gpus = cannot[0].gpus_of_host
    counted = f"GPUs found there: {'at least 1' if gpus is None else gpus}"
    return _kind(problem).finding(
        subject=subject,
        message=f"{who}: {problem.text}",
        evidence=(f"{counted}; {'; '.join(well)}" if well else counted,),
        remedy=_REMEDIES[problem.cause],
    )


def _names(hosts: Iterable[str]) -> str:
    every = sorted(hosts)
    folded = fold(every)
    return folded if len(folded) <= _LONGEST else named(every, _EACH)


def _kind(problem: GpuProblem) -> FindingKind:
    """Another Python may have a torch that fits; a GPU that does not work is the host's."""
    of_torch = problem.cause in ("torch", "driver")
    return finding_kinds.TORCH_WITHOUT_GPU if of_torch else finding_kinds.GPU_UNUSABLE


def _whom(here: Sequence[RankFacts], cannot: Sequence[RankFacts], name: str) -> tuple[Subject, str]:
    if len(cannot) == len(here):
        return Subject(kind="host", name=name), f"no rank on {name} can use a GPU"
    ranks = named((str(facts.rank) for facts in cannot), _SHOWN)
    if len(cannot) == 1:
        return Subject(kind="rank", name=ranks), f"rank {ranks} on {name} cannot use its GPU"
    return Subject(kind="host", name=name), f"ranks {ranks} on {name} cannot use their GPUs"
