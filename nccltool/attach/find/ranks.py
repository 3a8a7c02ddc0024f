"""From the processes of a host to the ranks of its jobs, and to what started these."""

import pwd
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from nccltool.attach.find import variables
from nccltool.attach.find.processes import ProcessRow
from nccltool.attach.seen.job import Unread
from nccltool.attach.seen.ranks import AgentFound, KnownBy, RankFound
from nccltool.core.unknown import Unknown

_WRAPPERS = frozenset(
    (
        *("sh", "bash", "dash", "zsh", "ksh", "env", "numactl", "taskset", "nice", "timeout", "srun", "mpirun"),
        *(
            "mpiexec",
            "orted",
            "prted",
            "hydra_pmi_proxy",
            "tini",
            "dumb-init",
            "singularity",
            "apptainer",
            "starter",
        ),
        *(
            "enroot",
            "nsys",
            "ncu",
            "strace",
            "sudo",
            "su",
            "slurmstepd",
            "slurm_script",
            "tee",
            "uv",
            "poetry",
            "conda",
        ),
    )
)
"""Programs that start a rank and have its variables, too: the rank is below them."""
_AGENT = re.compile(r"(?:^|/)torchrun$|^torch\.distributed\.(?:run|launch)$")
_FAR_END = "nccltool.attach.reach.far_end"
_LOOPBACK = ("localhost", "127.", "::1")
_WORKERS = ("pt_data_worker", "pt_data_pin")


@dataclass(frozen=True, kw_only=True, slots=True)
class RanksFound:
    """What was found on this host."""

    ranks: tuple[RankFound, ...]
    agents: tuple[AgentFound, ...]
    unread: tuple[Unread, ...]


def found(
    rows: Mapping[int, ProcessRow],
    host: str,
    boot_s: float | None = None,
    tick_s: float = 0.01,
    looker: int | None = None,
) -> RanksFound:
    """The ranks among these processes.

    `boot_s`: seconds since 1970, when the host started. `looker`: the process that looks.
    """
    lookers = () if looker is None else (looker, *above(rows, looker))
    named = {pid: row for pid, row in rows.items() if _names_a_rank(row) and not _is_looker(row, looker, lookers)}
    chosen = {row.pid: "environ" for row in _one_each(_topmost(named, rows), named, rows)}
    below = {pid for pid in rows if pid not in chosen and any(up in chosen for up in above(rows, pid))}
    for pid, row in rows.items():
        if row.is_distributed and pid not in chosen and pid not in below:
            chosen[pid] = "libraries"
    ranks = tuple(
        _rank(rows, pid, "libraries" if by == "libraries" else "environ", host, boot_s, tick_s)
        for pid, by in sorted(chosen.items())
    )
    ranks = tuple(_apart(tuple(_without_visitors(ranks, rows)), rows))
    agents = tuple(_agents(rows, ranks, host))
    return RanksFound(ranks=ranks, agents=agents, unread=tuple(_unread(rows, chosen, host)))


def _is_looker(row: ProcessRow, looker: int | None, lookers: Sequence[int]) -> bool:
    """srun --overlap and kubectl exec give the variables of a rank to the process that looks, and to its shell."""
    return row.pid == looker or (row.pid in lookers and not row.is_distributed and _is_task(row))


def _is_task(row: ProcessRow) -> bool:
    """Only a scheduler calls it a rank; it may be anything that the user starts beside the ranks."""
    env = {} if isinstance(row.env, Unknown) else row.env
    launcher = variables.of_launcher(env)
    return launcher is not None and launcher.launcher == "slurm" and not row.is_distributed


def _without_visitors(ranks: Sequence[RankFound], rows: Mapping[int, ProcessRow]) -> Iterator[RankFound]:
    """A shell's children in a pod have the variables of its rank, too; the rank has threads of process groups."""
    groups: dict[tuple[str, int | None, str], list[RankFound]] = {}
    for one in ranks:
        groups.setdefault((one.job, one.rank, rows[one.pid].network), []).append(one)
    for one in ranks:
        same = groups[(one.job, one.rank, rows[one.pid].network)]
        is_real = rows[one.pid].is_distributed or not any(rows[other.pid].is_distributed for other in same)
        if is_real or one.rank is None:
            yield one


def _apart(ranks: Sequence[RankFound], rows: Mapping[int, ProcessRow]) -> Iterator[RankFound]:
    """Two processes of one rank are of two jobs: containers on one host may have the same address and port."""
    double = _double(ranks)
    ranks = tuple(replace(one, job=f"{one.job} {one.program}") if one.job in double else one for one in ranks)
    double = _double(ranks)
    for one in ranks:
        network = rows[one.pid].network
        yield replace(one, job=f"{one.job} in {network}") if one.job in double and network else one


def _double(ranks: Sequence[RankFound]) -> frozenset[str]:
    """Jobs that have a rank twice."""
    counts = Counter((one.job, one.rank) for one in ranks if one.rank is not None)
    return frozenset(job for (job, _), count in counts.items() if count > 1)


def _names_a_rank(row: ProcessRow) -> bool:
    env = row.env
    if isinstance(env, Unknown) or row.state == "Z" or row.name.startswith(_WORKERS) or _looks(row):
        return False
    launcher = variables.of_launcher(env)
    if launcher is None:
        return False
    return row.is_distributed or launcher.launcher != "torchrun" or "MASTER_ADDR" in env


def _looks(row: ProcessRow) -> bool:
    """Another user of this command, whom srun has started here."""
    return _program(row.command) == _FAR_END


def _identity(row: ProcessRow) -> tuple[str, int]:
    """Of one rank all processes have the same."""
    env = {} if isinstance(row.env, Unknown) else row.env
    launcher = variables.of_launcher(env)
    return (_job(row, env), -1 if launcher is None else int(env[launcher.rank]))


def _topmost(named: Mapping[int, ProcessRow], rows: Mapping[int, ProcessRow]) -> Iterator[ProcessRow]:
    """Those that have no process of the same rank above them, and are no launcher of ranks: torchrun in a Slurm
    task has Slurm's variables, and its children have torchrun's."""
    starters = {up for pid, row in named.items() for up in above(rows, pid) if _differs(named.get(up), row)}
    for pid, row in named.items():
        over = [named[up] for up in above(rows, pid) if up in named]
        if pid not in starters and not any(_identity(one) == _identity(row) for one in over):
            yield row


def _differs(above: ProcessRow | None, row: ProcessRow) -> bool:
    return above is not None and _identity(above) != _identity(row)


def _one_each(
    tops: Iterator[ProcessRow], named: Mapping[int, ProcessRow], rows: Mapping[int, ProcessRow]
) -> Iterator[ProcessRow]:
    """A rank's own process: below the shells and tools that start it."""
    for top in tops:
        now = top
        while now.name in _WRAPPERS or is_agent(now):
            below = [row for row in named.values() if row.parent == now.pid and _identity(row) == _identity(top)]
            if len(below) != 1:
                break
            now = below[0]
        if not (now.name in _WRAPPERS or is_agent(now)):
            yield now


def above(rows: Mapping[int, ProcessRow], pid: int) -> Iterator[int]:
    """The processes above one, nearest first."""
    seen = {pid}
    while (row := rows.get(pid)) is not None and row.parent not in seen and row.parent > 0:
        pid = row.parent
        seen.add(pid)
        yield pid


def is_agent(row: ProcessRow) -> bool:
    return row.name == "pt_elastic" or any(_AGENT.search(word) for word in row.command[:4])


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _job(row: ProcessRow, env: Mapping[str, str]) -> str:
    """What ranks of one job have in common, and those of two jobs have not."""
    launcher = variables.of_launcher(env)
    address, port = env.get("MASTER_ADDR", ""), env.get("MASTER_PORT", "")
    name = env.get(launcher.job, "") if launcher and launcher.job else ""
    if launcher and launcher.step:
        name += f".{env[launcher.step]}"
    if address:
        place = f"{address}:{port}"
        return f"{_user(row.uid)} {place}" + (f" {name}" if name and name != "none" else "")
    return f"{_user(row.uid)} {launcher.launcher} {name}".rstrip() if launcher else ""


def _rank(
    rows: Mapping[int, ProcessRow], pid: int, by: KnownBy, host: str, boot_s: float | None, tick_s: float
) -> RankFound:
    row = rows[pid]
    env = {} if isinstance(row.env, Unknown) else row.env
    launcher = variables.of_launcher(env)
    of = launcher or variables.LAUNCHERS[0]
    by = "scheduler" if by == "environ" and _is_task(row) and "MASTER_ADDR" not in env else by
    local_world, world = variables.number(env, of.local_world), variables.number(env, *of.world)
    job = _job(row, env) if launcher else f"{_user(row.uid)} below {_root(rows, pid)}"
    address = env.get("MASTER_ADDR", "")
    if address.startswith(_LOOPBACK) and (local_world in (None, world)):
        job = f"{job} on {host}"  # the same text on another host is another job
    return RankFound(
        host=host,
        pid=pid,
        inner_pids=row.inner_pids,
        rank=variables.number(env, of.rank),
        world_size=world,
        local_rank=variables.number(env, of.local_rank),
        local_world_size=local_world,
        node_rank=variables.number(env, of.node),
        job=job,
        launcher=_launcher(rows, pid, env, launcher.launcher if launcher else ""),
        restarts=variables.number(env, "TORCHELASTIC_RESTART_COUNT"),
        known_by=by,
        user=_user(row.uid),
        program=_program(row.command),
        started_at_s=None if boot_s is None else boot_s + row.started_ticks * tick_s,
        agent_pid=next((up for up in above(rows, pid) if up in rows and _is_starter(rows[up])), None),
        master=f"{address}:{env.get('MASTER_PORT', '')}" if address else "",
        settings=tuple((name, env[name]) for name in variables.LOOKED_AT if name in env),
    )


def _launcher(rows: Mapping[int, ProcessRow], pid: int, env: Mapping[str, str], by_variables: str) -> str:
    if by_variables == "torchrun" and "TORCHELASTIC_RUN_ID" not in env:
        by_variables = (
            "slurm" if "SLURM_PROCID" in env else "kubernetes" if "KUBERNETES_SERVICE_HOST" in env else ""
        )
    if rows[pid].name.startswith("ray::") or any(
        rows[up].name == "raylet" for up in above(rows, pid) if up in rows
    ):
        return "ray"
    return by_variables


def _root(rows: Mapping[int, ProcessRow], pid: int) -> int:
    """The nearest Python process above, which started the ranks; otherwise the parent."""
    row = rows[pid]
    return next((up for up in above(rows, pid) if up in rows and "python" in rows[up].name), row.parent)


def _program(command: Sequence[str]) -> str:
    """The script or module, without its arguments: these may hold tokens."""
    words = list(command[1:])
    while words:
        word = words.pop(0)
        if word == "-m" and words:
            return words[0][:80]
        if word == "-c":
            return "python -c"
        if not word.startswith("-"):
            return PurePath(word).name[:80]
    return PurePath(command[0]).name.split(" ")[0][:80] if command else ""


def _is_starter(row: ProcessRow) -> bool:
    return is_agent(row) or row.name in ("slurmstepd", "orted", "prted", "hydra_pmi_proxy", "raylet")


def _agents(rows: Mapping[int, ProcessRow], ranks: Sequence[RankFound], host: str) -> Iterator[AgentFound]:
    for pid in dict.fromkeys(rank.agent_pid for rank in ranks if rank.agent_pid is not None):
        of = [rank for rank in ranks if rank.agent_pid == pid]
        row = rows[pid]
        yield AgentFound(
            host=host,
            pid=pid,
            job=of[0].job,
            command="torchrun" if is_agent(row) else row.name,
            children=tuple(one.pid for one in rows.values() if one.parent == pid),
            local_world_size=of[0].local_world_size if is_agent(row) else None,
            state=row.state,
        )


def _unread(rows: Mapping[int, ProcessRow], chosen: Mapping[int, str], host: str) -> Iterator[Unread]:
    """Ranks whose variables are another user's: their numbers are not known."""
    for pid in chosen:
        if isinstance(env := rows[pid].env, Unknown):
            yield Unread(
                what=f"variables of pid {pid}",
                reason=env.reason.partition(": ")[2] or env.reason,
                missing="run as root" + (f" or as {_user(rows[pid].uid)}" if rows[pid].uid else ""),
                host=host,
                pid=pid,
            )
