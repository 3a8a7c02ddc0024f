#!/bin/sh
# A plugin of node-problem-detector: exit 0 is healthy, 1 a problem of the node, anything else unknown. The first line of
# standard output is the message of the condition. Limits, shared memory and cgroup here are those of the detector's own
# container, not of the jobs: their rules are left out. Where it runs as a service of the host, look at them too.
export PATH="${PATH:+$PATH:}/opt/nccltool/bin:/usr/local/bin:/usr/bin:/bin"
exec timeout -k 1 10 nccltool slurm-prolog --ignore LIM,SHM,CON
