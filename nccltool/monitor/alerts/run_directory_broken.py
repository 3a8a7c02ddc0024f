"""nccltool serve cannot read its runs.

## Meaning
The run directory is gone or may not be read, so that nothing of it is shown any more; or runs in it are
damaged.

## Impact
Numbers are missing. Damaged runs were most likely cut off by a full disk.

## Verify
    nccltool runs --run-dir DIR                # expected: a list; damaged runs have status unknown
    df -h DIR                                  # expected: room
    ls -ld DIR                                 # expected: readable by the user of nccltool serve

## Causes
A file system that is not mounted, permissions, a full disk; a clock that was ahead, so that a run says that it
begins more than an hour from now.

## Fix
Mount it, or free room; remove the folders of damaged runs once their log.txt was read. Blast radius: none.

## Escalate
To whoever owns the host of the exporter.
"""

EXPR = "nccltool_run_directory_readable == 0 or nccltool_damaged_runs > 0"
HOLD = "5m"
SEVERITY = "warning"
SUMMARY = "Runs of nccltool cannot be read on {{ $labels.instance }}"
DESCRIPTION = "The run directory of {{ $labels.instance }} cannot be read, or runs in it are damaged."
SOURCE = "any; 5 minutes for a mount that comes back"
