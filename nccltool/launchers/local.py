"""The nodes that this command starts itself: all of them on this host, or its own one with --node-rank."""

import sys

from nccltool.model import Job


def commands(job: Job) -> tuple[tuple[str, ...], ...]:
    """Argv of the node processes. One process imports torch and forks an agent for each of its nodes.

    The job goes in on standard input: nothing to quote, nothing for `ps` to show.
    """
    # -P: a user's logging.py or random.py in this folder must not be imported in place of Python's
    return ((sys.executable, "-P", "-m", "nccltool.worker"),)
