"""A node process: takes the job, and runs its nodes here, or this host's part of a remote launch.

Standard input: the job, one line of JSON; later the runner's instructions. Standard output: events.
"""

import gc
import os
import sys

import msgspec

from nccltool.core import waking
from nccltool.launch.job import Job
from nccltool.localize.pairs.job import PairsJob
from nccltool.probe.job import ProbeJob
from nccltool.train.job import TrainJob
from nccltool.worker.channel import Channel
from nccltool.worker.node import remote

JOB_S = 60.0
"""The job is written right after the start."""


def run() -> None:
    """Run the job that comes in on standard input."""
    in_fd, out_fd = _take_over_standard_streams()
    try:
        line = Channel(out_fd, in_fd).wait_for_line(JOB_S)
    except EOFError:  # the runner is gone
        os._exit(1)
    if line is None:
        sys.exit(f"no job arrived on standard input within {JOB_S:.0f} s")
    job = _job(line)
    if job.kind == "facts":
        code = remote.tell_facts(job, out_fd)
    elif job.remote:
        code = remote.main(job, in_fd, out_fd, lambda: _load(job))
    else:
        waking.no_more(in_fd)  # the runner of this host sees that we are stopped, and ends us
        code = _load(job)(job, (), in_fd, out_fd)
    sys.stderr.flush()
    os._exit(min(code, 255))


_PRODUCTS: dict[str, type[Job]] = {"probe": ProbeJob, "train": TrainJob, "pairs": PairsJob}


def _job(line: str) -> Job:
    job = msgspec.json.decode(line, type=Job)
    return msgspec.json.decode(line, type=_PRODUCTS.get(job.kind, Job))


def _load(job: Job) -> remote.NodeMain:
    if job.kind == "reach":  # who reaches whom is asked of the node processes; no rank is started
        return lambda *_: 0
    # a CUDA context in this process would make CUDA unusable in the ranks that are forked from it
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"
    gc.disable()  # imports leave nothing to collect, and half a million objects to look through again and again
    from nccltool.worker.node import local  # torch

    if isinstance(job, TrainJob):
        from nccltool.worker.train import strategies

        strategies.load(job.train.strategies)
    gc.freeze()  # ranks that are forked do not look through them either
    gc.enable()
    return local.run


def _take_over_standard_streams() -> tuple[int, int]:
    """Keep the runner's pipes away from libraries that print: (instructions in, events out)."""
    in_fd, out_fd = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    return in_fd, out_fd
