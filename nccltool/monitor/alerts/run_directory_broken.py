"""nccltool serve cannot read its runs.

## Meaning
The run directory is missing or unreadable, so no runs are shown, or some of its runs are damaged.

## Impact
Numbers are missing. A full disk is the usual reason for damaged runs.

## Verify
    nccltool runs --run-dir DIR                # expected: a list; damaged runs have status unknown
    df -h DIR                                  # expected: free space
    ls -ld DIR                                 # expected: readable by the user of nccltool serve

## Causes
* A file system is not mounted.
* The user of nccltool serve may not read the folder.
* The disk is full.
* A clock was ahead, so a run starts more than an hour in the future.

## Fix
Mount the file system or free disk space; then read log.txt of the damaged runs and run nccltool runs rm ID.
Blast radius: none.

## Escalate
Contact the owner of the exporter's host.
"""

EXPR = "nccltool_run_directory_readable == 0 or nccltool_damaged_runs > 0"
HOLD = "5m"
SEVERITY = "warning"
SUMMARY = "nccltool runs cannot be read on {{ $labels.instance }}"
DESCRIPTION = "The run directory on {{ $labels.instance }} cannot be read, or runs in it are damaged."
SOURCE = "one is enough; 5 minutes for a mount that recovers"
