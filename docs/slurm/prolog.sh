#!/bin/sh
# Prolog= of slurm.conf: no job starts on a node that fails. Only a failure of the node drains it, never one of the look:
# exit 1 says that something is wrong with the node, and anything else (not installed, too late) lets the job start.
export PATH="${PATH:+$PATH:}/opt/nccltool/bin:/usr/local/bin:/usr/bin:/bin"
timeout -k 1 10 nccltool slurm-prolog --drain
[ $? -ne 1 ]
