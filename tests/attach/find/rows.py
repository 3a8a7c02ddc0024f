"""Processes as tests write them: one a line."""

from nccltool.attach.find.processes import ProcessRow
from nccltool.core.unknown import Unknown


def row(
    pid: int,
    parent: int = 1,
    name: str = "python",
    command: str = "python train.py --token hf_abc",
    state: str = "S",
    is_distributed: bool = False,
    env: str | None = "",
    uid: int = 0,
) -> tuple[int, ProcessRow]:
    """`env`: words NAME=value; None = another user's."""
    variables = dict(word.split("=", 1) for word in (env or "").split())
    return pid, ProcessRow(
        pid=pid,
        parent=parent,
        name=name,
        state=state,
        uid=uid,
        started_ticks=500,
        inner_pids=(pid,),
        command=tuple(command.split()),
        env=Unknown(f"/proc/{pid}/environ cannot be read: Permission denied") if env is None else variables,
        is_distributed=is_distributed,
    )


def elastic(rank: int, world: int = 2, port: int = 29500, more: str = "") -> str:
    """The variables of a rank of torchrun on one host."""
    return (
        f"RANK={rank} LOCAL_RANK={rank} WORLD_SIZE={world} LOCAL_WORLD_SIZE={world} GROUP_RANK=0"
        f" MASTER_ADDR=10.0.0.1 MASTER_PORT={port} TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=1 {more}"
    )
