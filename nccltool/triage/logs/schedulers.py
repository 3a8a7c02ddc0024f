"""What starts and ends jobs: Slurm, mpirun, Kubernetes, Ray, the user."""

from nccltool.triage.logs import slurm
from nccltool.triage.logs.base import OF_A_PART
from nccltool.triage.logs.patterns import table

PATTERNS = table(
    r"""
failure
    job.cancelled    (?:JOB|STEP) (?P<job>[\w.+]+) ON (?P<node>[\w.-]+)` CANCELLED `AT (?!\S+ DUE TO (?:TASK|MEMO
                     RY))\S+(?:
                     [ ](?P<why>DUE TO [A-Z ]+))?
    job.cancelled    `Force Terminated |Job has been cancelled`
    job.cancelled    `Slurm job `\S+ has expired
    job.time-limit   `DUE TO TIME LIMIT`
    job.preempted    `DUE TO PREEMPTION`
    job.time-limit   `walltime` \d+ exceeded limit
    job.time-limit   `TERM_RUNLIMIT|was active longer than specified deadline`
    job.cancelled    `TERM_`(?:OWNER|ADMIN)\b
    job.cancelled    `ancel` => (?i)\buser cancell?ed\b|\bcancell?ed by (?:the )?user\b
    job.preempted    `TERM_PREEMPT|The node was low on resource`
    job.node-failed  `DUE TO NODE FAILURE`
    job.node-failed  `Node failure on` (?P<node>[\w.-]*\w)
    job.preempted    ^\s*\d+\S*\s+(?:\S+\s+)*`PREEMPTED`\b
    job.time-limit   ^\s*\d+\S*\s+(?:\S+\s+)?`TIMEOUT`\s+\d+:\d+
    host.oom         `oom-kill|oom_kill`
    host.oom         Detected \d+` oom`(?![-_]kill)
    host.oom         `OOM Killed|TERM_MEMLIMIT`
    host.oom         `job killed: `[pv]?mem\b.*exceeded limit
    host.oom         [Ee]`xceeded `(?:job |step )?memory limit
    host.oom         `OOMKilled`(?!["':= ]{1,4}false\b)
    host.oom         (?:^|[\s:="'])`OutOfMemory`(?!Error)
    host.oom         srun: error: (?P<node>[\w.-]+):.*`Out Of Memory`
    host.oom         `OUT_OF_ME`
    host.oom         `killed by the memory monitor|ObjectStoreFullError`
    host.oom         `due to memory pressure (OOM)` => (?:ip=|IP: )(?P<address>[\d.]+)
    host.oom         `due to the node running low on memory`
    host.oom         `emory on the node (IP: ` => IP: (?P<address>[\d.]+).*exceeds the memory usage threshold
    mpi.no-start     `unable to reliably start one or more daemons|Host key verification failed`
    mpi.no-start     `ssh: `Could not resolve
    mpi.no-callback  `communicating back to mpirun`
    mpi.no-start     `An ORTE daemon has unexpectedly failed|A daemon (pid` => daemon\b.*(?:failed|died)
    mpi.no-start     `HYDU_sock_connect|HYDT_bscd|HYDU_create_process`
    mpi.no-start     `Permission denied (publickey`
    mpi.no-start     `srun: error: Unable to ` => Unable to (?:create step|confirm allocation|allocate resources)
                     (?!.*: {REFUSED})
    mpi.no-start     `PMI` => (?:PMIX? ERROR(?!: ERROR in file|.*\b(?:gds_|dstore))|PMIx_Init failed|
                     PMI2?_Init failed)
    mpi.no-start     `not enough slots available|ssh exited with exit code 255`
    mpi.no-start     `timeout waiting for task launch|Application launch failed:`
    mpi.no-start     `Task launch for ` => Task launch for \S+ failed on node (?P<node>[\w.-]+)
                     (?!.*: {REFUSED})
    job.pod-failed   `CrashLoopBackOff|ImagePullBackOff|ErrImagePull|Init:Error` => ^[a-z][\w.-]+\s+\d+/\d+\s+\w
    mpi.unreachable  `are unable to reach each other|MPI process is unreachable|failed to TCP connect to a`
    mpi.bad-call     `MPI_ERR_`(?:COMM|RANK|TYPE|ARG|COUNT|OP|GROUP|BUFFER|TAG|ROOT|DIMS|REQUEST|WIN|FILE)\b:
    mpi.bad-call     Fatal error in \w+`: Invalid `
    mpi.bad-call     `erroneous MPI program|before MPI_INIT was|after MPI_FINALIZE`
    mpi.bad-call     `Attempting to use an MPI routine`
    host.malloc      `MPI_ERR_NO_MEM`
    ib.mixed         `two different OpenFabrics transport`
    ucx.link         `InfiniBand retry count between`
    plugin.ofi-failed  `MPIDI_OFI_` => No matching provider|addrinfo\(\) failed|getinfo(?:\(\))? failed|
                     domain failed
    app.segfault     `EXIT CODE: 1`(?:39|1)\b
    mpi.truncated    `MPI_ERR_TRUNCATE`
    mpi.truncated    `bytes received but buffer size is`
    mpi.truncated    `do not match across processes in the coll` => Received \d+ but expected \d+
    mpi.killed       `EXIT CODE: 9|KILLED BY SIGNAL: 9|EXIT CODE: 137`
    mpi.lost         `ORTE has lost communication with a remote daemon|PRTE has lost communication`
    job.preempted    `instances.preempted|instance/preempted = TRUE|SpotInstanceTermination`
    job.preempted    `instance/preempted TRUE`
    job.preempted    `spot/instance-action 200|aborted: worker-shutdown`
    job.preempted    `is preempted or failed|spot cluster and reset`
    job.preempted    `(PREEMPTED)`
    job.cancelled    `etected kill switch|kill switch detected`
    job.preempted    `reempt` => (?i)^(?!.*(?:preemptionmode|kv cache)).*?(?:
                     \b(?:was|been|is|being|job|node|pod) preempted|preempted by\b|
                     \b(?:job|task|run|node|pod|instance|vm|workload) \S{1,60} preempted\b|status=preempted|
                     ^\s*(?:warning|normal)\s+preempt\w*|preemption (?:notice|signal|event)|reason:? "?preempt)
    job.preempted    `Evicted` => (?:Reason:|reason:|Warning|Status:)\s*"?Evicted|^(?P<node>[a-z]
                     [\w.-]+)\s+\d+/\d+\s+Evicted\b|\bEvicted\b.*pod
    job.preempted    `PreemptionBy|DeletionByTaintManager|EvictionByEvictionAPI|imminent node shutdown`
    job.preempted    `DRAIN_NODE_REASON_PREEMPTION|Host EC2 (instance` => REASON_PREEMPTION|\) terminated
    job.preempted    `TaintManagerEviction|termination is imminent|marked for termination`
    job.preempted    `will be terminated soon` => (?:node IP: (?P<address>[\d.]+))?.*will be terminated soon
    job.preempted    `SpotInterrupt|InterruptionKind` => (?:node/(?P<node>[\w.-]+))?
    job.preempted    `spot |Spot `(?:instance )?(?:interruption|termination|reclaim)
    job.preempted    `maintenance` => (?:TERMINATE_ON_HOST_MAINTENANCE|maintenance event|for maintenance)
    job.preempted    `is evicted, because of|Job was evicted|instancepreemptionaction`
    job.cancelled    `via condor_rm|Job was aborted by the user`
    job.cancelled    `exception type=cancel severity=0`
    job.time-limit   `exception type=timeout severity=0`
    job.cancelled    `deleted at request of`
    job.cancelled    `borted by user|USER ABORTED|ser aborted: stopping task` => (?i)\b(?:task|process|job|run|
                     trial|execution|build|training)\b
    job.time-limit   `execution took longer than` => Job failed
    job.time-limit   `has exceeded the maximum execution time of|Job attempt duration exceeded timeout`
    job.sigterm      \b`SIGTERM `(?:signal )?(?:was )?received\b(?!.*(?:raining requests|exiting normally))
    job.terminated   `Parent appears to have exited, shutting down`
    job.sigterm      (?:[Rr]eceiv(?:ed|ing)|[Cc]aught|[Gg]ot|[Bb]ypassing) (?:signal )?`SIGTERM`
    job.sigterm      ` signal` => [Rr]eceived (?:Signals\.)?(?:15|2|1|SIG(?:TERM|INT|HUP)) death signal|got
                     [ ]signal: (?:15|2|1)\b|(?:[Rr]eceived?|Bypassing|[Cc]aught) signal
                     [ ](?:15|2|1|SIGTERM)\b
    job.sigusr       (?:[Rr]eceived|[Cc]aught|[Gg]ot) (?:signal )?`SIGUSR1`
    job.interrupted  ^(?:.*: )?`KeyboardInterrupt`\b
    job.interrupted  ^`^C`
    job.interrupted  `sending Ctrl-C to|closing signal SIGINT|more within 1 sec to abort`
    job.sigterm      `Killed by signal 15`
    job.sigterm      `*** SIGTERM (@`
    job.cancelled    `The operation was canceled`
    job.terminated   `forcing job termination`
    job.terminated   ^`Terminated`$
    job.killed       ^(?:.*: line \d+: +\d+ )?`Killed`\b(?! by signal)\s*(?:$|[a-z./(])
    job.stalled      \b`no step|no progress|no heartbeat|no output|no iteration`s?\b.*\b(?:for|in|since) \d+ ?
                     (?:s\b|sec|min|m\b|hours)
    job.timed-out    `timeout` => Killed\s+(?:\w+=\S+ )*timeout\b|timeout: sending signal|(?:exit|exited|
                     rc)\D{0,12}124\b
    job.preempted    `cheduled event` => (?i)scheduled events?\b.*\b(?:preempt|terminate|redeploy)
    job.preempted    `"action"` => "action": ?"terminate"
    host.oom         `oom_reaper: reaped process`
    host.oom         `java.lang.OutOfMemoryError`
    host.oom         `low memory! at or below SIG`
    host.oom         `% memory budget` => exceeded \d+% memory budget
    torch.oom        `bfc_allocator` => ran out of memory trying to allocate(?!.*not a failure)
    job.preempted    `will be ` => (?i)\b(?:node|instance|vm|host)\b.{0,40}\bwill be (?:terminated|reclaimed|take
                     n)\b
    job.preempted    `reemption of ` => (?i)preemption of (?:ranks?|nodes?|workers?|pods?)
    job.timed-out    `timeout: the monitored command|timeout: sending signal|***Timeout|Failed: Timeout >`
    job.timed-out    `rc=124|exit code 124|status 124`
    job.timed-out    ^`timeout: the monitored command`
    job.timed-out    Test +#\d+: \S+ \.+`***Timeout`
echo
    job.exit         `FAILED` => ^\s*\d+(?:\.\S+)?\s+(?:\S+\s+)*FAILED\s+(?:.*\s)?\d+:\d+\b
    job.exit         `srun: error:` (?P<node>[\w.-]+): tasks? (?P<tasks>[\d,\-\[\]]+): (?P<how>.+)
    mpi.exit         (?:process rank (?P<rank>\d+)|task \d+).*?on node (?P<node>[\w.-]+) `exited on signal`
                     [ ](?P<signal>\d+)
    mpi.exit         `exited with non-zero status|a non-zero exit code`
    mpi.exit         `BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES`
    mpi.exit         `MPI_ERRORS_ARE_FATAL`
    mpi.exit         `Fatal error in ` => ^(?:\S+ )*Abort\(\d+\) on node \d+.*Fatal error in|Fatal error in (?:
                     internal_|P)?MPI_\w+:
    mpi.exit         `MPI_ABORT was invoked` => invoked on rank (?P<rank>\d+)
    job.actor-died   `ActorDiedError|Worker unexpectedly exits|WorkerCrashedError|NodeDiedError|OwnerDiedError`
    job.actor-died   ^(?:.*?address: (?P<peer>[\d.]+))?.*`has been marked dead because`
    mpi.peer-closed  `peer process has unexpectedly disconnected`
    job.task-lost    ` heartbeat timeout` => /task:(?P<lost>\d+) heartbeat timeout
    job.task-lost    `has been set to ERROR in coordination` => /task:(?P<lost>\d+) has been set
    job.task-lost    `coordinator detected missing heartbeats`
    job.task-lost    `are unhealthy (stopped sending heartbeats)` => (?:.*/task:(?P<lost>\d+))?
    job.task-lost    `most likely indicates that another task died`
    job.task-lost    `Collective ops is aborted by` => (?i)connection reset|socket closed|broken pipe|heartbeat|
                     different incarnation
    job.actor-died   `worker died or was killed` => (?:Worker IP address: (?P<peer>[\d.]+))?$
doubt
    host.memory-limit  hit memory(?:\+swap)? `limit at `(?:least once|some point)
state
    mpi.reported     `reported by process `\[\d+,(?P<rank>\d+)\]
    job.restarted    `restart count `[1-9]
    job.restarted    `equeued ` => ^Requeued (?:SLURM )?job \d+
    job.restarted    `estor` => (?i)\brestor(?:ed|ing) (?:all )?(?:states?|checkpoint|training) (?:from|at)\b
    job.restarted    `resum` => (?i)^(?!.*(?:can ?not|could not|fail|unable)).*\bresum(?:e|ed|es|ing)
                     [ ](?:training |the run |run )?from (?!scratch)
    job.tmpdir-set   `slurmstepd: error: Setting TMPDIR to`
    job.unstuck      `Thread is unstuck! Warning above was a false`
    job.pod-pending  `Pending` => ^(?P<node>[a-z][\w.-]+)\s+\d+/\d+\s+Pending\b
    job.state        `FAILED` => ^\s*\d+\S*\s+(?:\S+\s+)?(?P<state>FAILED|NODE_FAIL)\b
success
    job.completed    ^\s*\d+(?!\S*\.extern)\S*\s+(?:\S+\s+)*`COMPLETED`\s+(?:.*\s)?0:0\b
    job.completed    `State: COMPLETED|exits successfully`
    job.completed    [Tt]`raining completed|raining finished`
    job.completed    `raining complete`
    job.completed    ['"]`train_runtime`['"]
    job.completed    `Trainer.fit`\x60 stopped
    job.completed    \b`rc=0`\b
    job.completed    ^(?!.*{OF_A_PART}).*exited with `code 0`\b
    job.completed    `ucceeded` => (?:phase|status|state|Job|job):? ?(?:has )?[Ss]ucceeded\b|^Succeeded$
    job.completed    `ompleted` => (?:main container|job|run|training|benchmark|all ranks|workers?) completed(?:
                     [ ]successfully)?\b|^(?!.*{OF_A_PART}).*completed successfully
    job.completed    `max steps reached|Application shutdown complete|JAX distributed shutdown complete`
    job.completed    `Processed prompts: 100%`
    bench.osu        ^# `OSU MPI`
    job.completed    (?i)\ball (?:\d+ )?(?:epochs?|steps?|iterations|ranks|workers|tasks)[ ]
                     (?:are |have )?f`inished`\b
    job.completed    `raining` => (?i)\b(?:finished|completed|done) training\b|\btraining (?:took|done|time)\b
    job.completed    `inal ` => (?i)\bfinal (?:checkpoint|model) (?:saved|written)\b|\bsaved final\b
    job.completed    `COMPLETED ExitCode 0:0|after training is done`
    job.completed    `return code = 0|job finished`
    job.completed    ^(?!.*{OF_A_PART}).*(?:exited with|with|finished,?) `exit code 0`\b
    job.completed    ^(?:all )?`done`\b(?!:? [\d.]+%)
    job.completed    `WEXITSTATUS 0`
    job.completed    ^T`otal images/sec: |otal img/sec on `
""",
    hosts_in=("node", "address"),
    OF_A_PART=OF_A_PART,
    REFUSED=slurm.REFUSED,
)
