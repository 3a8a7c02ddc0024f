"""A rank did not find its data.

## Meaning
The program opened a missing file.

## Impact
The rank ends; the others wait for it until they time out.

## Verify
    ls -l PATH                                 # on the host of the rank; expected: the file

## Causes
A file system that is not mounted on one host; a path from another cluster.

## Fix
Mount the file system, or correct the path. Blast radius: this job only.

## Escalate
To the storage team if the mount is lost.
"""

from nccltool.triage.causes.base import SAYS, Clue, Clues, Given, Offender, Timeline

NCCLTOOL_PLUGIN = 1

DECIDES = "whether the path exists on the host of the rank"
EXPLAINS = frozenset({"app-error"})


def clues(timeline: Timeline) -> Given:
    """The exception of Python that names the path."""
    if event := timeline.first("app.exception", where=lambda e: e.get("type") == "FileNotFoundError"):
        yield Clue(SAYS, "a rank opened a missing file", event)


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    """The rank, else its host."""
    return clues.rank_or_host()
