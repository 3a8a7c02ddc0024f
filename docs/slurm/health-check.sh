#!/bin/sh
# HealthCheckProgram= of slurm.conf. slurmd does nothing with its exit code: it drains the node itself, and resumes it when
# what it was drained for by us is gone. Drained by anybody else, the node stays as it is.
# slurmd runs it with next to no environment: where slurm.conf is not in its usual place, set SLURM_CONF here.
export PATH="${PATH:+$PATH:}/opt/nccltool/bin:/usr/local/bin:/usr/bin:/bin"
timeout -k 1 10 nccltool slurm-prolog --drain --resume
