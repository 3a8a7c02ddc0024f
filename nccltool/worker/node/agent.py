"""A node's agent: torch elastic starts a supervisor for each rank of the node, by fork."""

import os
import sys
from pathlib import Path

from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.elastic.rendezvous import RendezvousParameters
from torch.distributed.elastic.rendezvous.api import rendezvous_handler_registry
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from nccltool.launch import events, inside
from nccltool.launch.job import Job
from nccltool.worker.channel import Channel
from nccltool.worker.node import rendezvous
from nccltool.worker.node.rendezvous import FixedRendezvous, NodesMissing, StoreAddress
from nccltool.worker.node.supervisor import supervise
from nccltool.worker.rank import life

_MONITOR_S = 0.05
_SHUTDOWN_S = 2


def run(job: Job, node_rank: int, store: StoreAddress, channel: Channel) -> int:
    """Run the ranks of one node; 0 when all of them ended well."""
    assert job.nodes is not None
    assert job.nproc_per_node is not None
    nodes = job.nodes

    def meet(_: RendezvousParameters) -> FixedRendezvous:
        return FixedRendezvous(store, node_rank, nodes, _shared_id(job), job.join_timeout_s)

    rendezvous_handler_registry.register(rendezvous.BACKEND, meet)
    logs = Path(job.scratch) / f"elastic-{node_rank}"
    logs.mkdir(parents=True)
    config = LaunchConfig(
        min_nodes=nodes,
        max_nodes=nodes,
        nproc_per_node=job.nproc_per_node,
        run_id=_shared_id(job),
        rdzv_backend=rendezvous.BACKEND,
        rdzv_endpoint=f"{store.host}:{store.port}",
        max_restarts=0,
        monitor_interval=_MONITOR_S,
        start_method="fork",
        logs_specs=DefaultLogsSpecs(log_dir=str(logs)),
        shutdown_timeout=_SHUTDOWN_S,
    )
    try:
        elastic_launch(config, _one_rank)(job, channel)
    except NodesMissing as missing:
        channel.emit(events.Reported(finding=missing.finding))
        return 1
    except ChildFailedError as error:
        for rank_number, failure in error.failures.items():
            if failure.exitcode < 0:  # the supervisor itself was killed; else it has said which rank and how
                channel.emit(events.Exited(rank=rank_number, code=failure.exitcode))
        return 1
    return 0


def _shared_id(job: Job) -> str:
    """The same on all nodes, whose commands do not know each other's run id."""
    return job.run_id if job.remote else "emulated" if job.emulated else "joined"


def _one_rank(job: Job, channel: Channel) -> None:
    place = inside.detect(os.environ)
    assert place is not None
    code = supervise(job, place, channel, life.main)
    if code:
        sys.exit(code if code > 0 else 128 - code)
