"""The numbers and ids of jobs: Slurm, torchrun's rendezvous."""

from nccltool.triage.logs.patterns import table

PATTERNS = table(
    r"""
state
    job.id  `SLURM_JOB` => \bSLURM_JOB_?ID[=: ]+['"]?(?P<job>\d+)\b
    job.id  `: *** ` => \*\*\* (?:JOB|STEP) (?P<job>\d+)(?:\.[\w+]+)? ON
    job.id  `StepId=`(?P<job>\d+)\.
    job.id  ` queued and waiting` => ^srun: job (?P<job>\d+) queued
    job.id  `Submitted batch job `(?P<job>\d+)
    job.id  ` has been allocated` => ^srun: job (?P<job>\d+) has
    job.id  `run_id` => ^\s*run_id {2,}: (?!none\b|None\b)(?P<launch>[\w.:-]+)\s*$
    job.id  `rdzv` => --rdzv[_-]id[= ]['"]?(?!none\b)(?P<launch>[\w.:-]+)
"""
)
