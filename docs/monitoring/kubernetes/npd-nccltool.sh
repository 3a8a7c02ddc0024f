#!/bin/sh
# A plugin for node-problem-detector: exit code 0 is healthy, 1 a node problem, anything else unknown. The first line of
# standard output becomes the message of the condition. Limits, shared memory and cgroup here belong to the detector's
# container, not to the jobs, so their rules are ignored. If it runs as a host service, remove --ignore.
export PATH="${PATH:+$PATH:}/opt/nccltool/bin:/usr/local/bin:/usr/bin:/bin"
timeout -k 1 10 nccltool slurm-prolog --ignore LIM,SHM,CON
code=$?
# without a message, the detector would keep that of an earlier problem
[ $code -le 1 ] || echo "nccltool: this node could not be checked (exit code $code)"
exit $code
