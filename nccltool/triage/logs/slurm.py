"""What Slurm's commands and daemons say: steps that do not start, refused options, lost hosts."""

from nccltool.triage.logs.patterns import table

REFUSED = (
    r"(?:Invalid(?! job credential)|More processors|Memory required|Unable to satisfy|[Pp]ermitted|"
    r"denied|specification|not supported|Requires more|too long|not available$|"
    r"Requested (?:node|partition) configuration|violates|[Ll]imit\b|required)"
)
"""Words of Slurm's reasons that are about what was asked for; the others are about hosts and connections."""
_DAEMON = r"(?:slurmstepd|slurmd|slurmctld)\S*: (?:error|fatal): "

PATTERNS = table(
    r"""
failure
    job.preempted    `reempt` => slurmctld\S*: .*\bpreempted (?:JobId|in order|to reclaim)|JobId=\S+ .*\bpreempt
    job.time-limit   `Time limit exhausted|exceeded its time limit`
    job.cancelled    `has been revoked|llocation request rescinded|scancel: Terminating`
    job.cancelled    ` DUE to SIGNAL ` => CANCELLED AT \S+ DUE to SIGNAL
    job.cancelled    `REQUEST_KILL_JOB|_slurm_rpc_kill_job` => JobId
    host.oom         `virtual memory limit` => [Ee]xceeded (?:step|job) virtual memory
    host.oom         ` oom_kill` => slurmstepd: .*oom_kill event
    job.node-failed  `setting DOWN|set to state DOWN|on failed node|set down|state set to DOWN` => (?:[Nn]odes?
                     [ ](?P<node>[\w.\[\]-]*\w\]?))?
    job.node-failed  `reason set to: ` => update_node: node (?P<node>[\w.-]+) reason set to: (?:Kill task failed|
                     Not responding|[Nn]ode unexpectedly|Low |Epilog|Prolog|gres)
    job.node-failed  `DUE TO JOB NOT` => STEPD TERMINATED ON (?P<node>[\w.-]+)
    job.node-failed  `unexpectedly rebooted|has low real_memory|gres/gpu count` => [Nn]ode (?P<node>[\w.-]+)
    app.launch       `srun: error: ` => (?:Unable to (?:create step|confirm allocation|allocate resources)|
                     Task launch for \S+ failed on node)\b.*: {REFUSED}
    mpi.no-start     `slurmstepd: error: ` => spank: required plugin \S+ .*fail
    mpi.no-start     `slurm` => {DAEMON}(?!.*(?:nvml|NVML)).*(?:[Pp]rolog\b.*(?:fail|
                     status|notification)|invoke (?:spank|task|plugin)|[Ff]ailed to
                     [ ](?:initialize|setup|set up|launch|start)|[Cc]redential|interconnect|
                     namespace_g_join|runtime setup|plugin stack|Couldn't load|TMPDIR \[|Unable to fork|launch RPC|
                     batch script setup|configure MPI|getting address|
                     unable to create .* (?:cgroup|tmpdir)|Unable to init|Munge)
    mpi.no-start     `slurmstepd: error: ` => mpi/pmi\w*: .*(?:fail|unable|cannot|time|mismatch|invalid)
    mpi.no-start     `srun: error: ` => srun: error: .*(?:io error|IO error|mpi/pmi\w*:|Zero Bytes|
                     Socket timed out|slurm_receive_msg|[Uu]nknown host|can't find address|find address for|
                     getting address|resolve|Connection refused|[Cc]redential|Munge|authentication|Protocol|
                     Job launch|step creation|Job step .*(?:fail|expired)|timed out establishing)
    app.launch       `srun: |sbatch: |salloc: ` => ^(?:srun|sbatch|salloc): (?:error|fatal): .*(?:\B--?[a-z][\w-]+|
                     specification|not permitted|mutually exclusive|not built with|plugin name|directive|
                     [Cc]an't (?:set|open)|[Ii]ncompatible|environment variables?|batch script|multi-prog|
                     not found in PATH|cannot be ignored|config(?:uration)? file|task (?:id|range)|
                     getcwd|no such file|No such file|too big|is empty)
    app.launch       `cannot bind local task`
    app.launch       `slurmstepd: error: ` => couldn't find the program|No executable program|Could not open
                     [ ]std\w+ file|[Pp]ermission denied
    job.time-limit   `JobState=TIMEOUT|Reason=TimeLimit`
    job.time-limit   `TIMEOUT` => ^\s*\d+\S*\s+(?:\S+\s+){0,5}TIMEOUT\s+(?:.*\s)?\d+:\d+\b
    job.time-limit   `wallclock|all clock|wall time|runtime limit|run time limit` => (?i)\b(?:exceed\w*|reached|o
                     ver)\b
                     .*\b(?:wall ?-?(?:clock|time)|run ?time)\b|\b(?:wall ?-?(?:clock|time)|run ?time)\b(?: \w+){
                     0,3}
                     [ ](?:exceed\w*|reached|expired)
    job.preempted    `JobState=PREEMPTED`
    job.preempted    `equeue` => (?i)\brequeu\w+\b.*\b(?:preempt\w*|higher.priority)
    job.cancelled    `JobState=CANCELLED`
    job.cancelled    `CANCELLED` => ^\s*\d+(?!\S*\.extern)\S*\s+(?:\S+\s+){0,5}CANCELLED(?: by \d+|\+)?\s+(?:.*\s
                     )?\d+:\d+\b
    job.node-failed  `JobState=NODE_FAIL`
    host.oom         `DUE TO MEMORY LIMIT`
echo
    job.exit         `Job step aborted: Waiting` => srun: Job step aborted
    job.exit         `Failed to send MESSAGE_TASK_EXIT`
doubt
    job.of-slurm     `slurm|srun: ` => ^(?:{DAEMON}|srun: error: )(?!\*\*\*)(?!.*(?:nvml|NVML|task \d|tasks |
                     Exited|chdir|x11|X11|pty|ioctl|[Tt]imed out waiting for job step|_kill|oom|is running|
                     is still|[Ff]ailure sending signal|ending|Setting TMPDIR))
""",
    hosts_in=("node",),
    DAEMON=_DAEMON,
    REFUSED=REFUSED,
)
