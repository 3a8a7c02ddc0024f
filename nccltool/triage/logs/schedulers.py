"""What starts and ends jobs: Slurm, mpirun, Kubernetes, Ray, the user."""

from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine, event, found, pattern

PATTERNS = (
    pattern(
        "job.cancelled",
        "failure",
        " CANCELLED ",
        r"(?:JOB|STEP) (?P<job>[\w.+]+) ON (?P<node>[\w.-]+) CANCELLED AT \S+(?: (?P<why>DUE TO [A-Z ]+))?",
    ),
    pattern("job.time-limit", "failure", "DUE TO TIME LIMIT"),
    pattern("job.preempted", "failure", "DUE TO PREEMPTION"),
    pattern("job.time-limit", "failure", "walltime", r"walltime \d+ exceeded limit"),
    pattern("job.time-limit", "failure", "TERM_RUNLIMIT"),
    pattern("job.cancelled", "failure", "TERM_", r"TERM_(?:OWNER|ADMIN)\b"),
    pattern("job.cancelled", "failure", "ancel", r"(?i)\buser cancell?ed\b|\bcancell?ed by (?:the )?user\b"),
    pattern("job.preempted", "failure", "TERM_PREEMPT"),
    pattern("job.preempted", "failure", "The node was low on resource"),
    pattern("job.node-failed", "failure", "DUE TO NODE FAILURE"),
    pattern("job.node-failed", "failure", "Node failure on", r"Node failure on (?P<node>[\w.-]*\w)"),
    pattern(
        "job.exit",
        "echo",
        "srun: error:",
        r"srun: error: (?P<node>[\w.-]+): tasks? (?P<tasks>[\d,\-\[\]]+): (?P<how>.+)",
    ),
    pattern("job.state", "state", "FAILED", r"^\s*\d+\S*\s+(?:\S+\s+)?(?P<state>FAILED|NODE_FAIL)\b"),
    pattern("job.preempted", "failure", "PREEMPTED", r"^\s*\d+\S*\s+(?:\S+\s+)*PREEMPTED\b"),
    pattern("job.time-limit", "failure", "TIMEOUT", r"^\s*\d+\S*\s+(?:\S+\s+)?TIMEOUT\s+\d+:\d+"),
    pattern("job.completed", "success", "COMPLETED", r"^\s*\d+\S*\s+(?:\S+\s+)*COMPLETED\s+(?:.*\s)?0:0\b"),
    pattern("job.completed", "success", "State: COMPLETED"),
    pattern("host.oom", "failure", "oom-kill"),
    pattern("host.oom", "failure", "oom_kill"),
    pattern("host.oom", "failure", " oom", r"Detected \d+ oom(?![-_]kill)"),
    pattern("host.oom", "failure", "OOM Killed"),
    pattern("host.oom", "failure", "TERM_MEMLIMIT"),
    pattern("host.oom", "failure", "job killed: ", r"job killed: [pv]?mem\b.*exceeded limit"),
    pattern("host.oom", "failure", "xceeded ", r"[Ee]xceeded (?:job |step )?memory limit"),
    pattern("host.oom", "failure", "OOMKilled"),
    pattern("host.oom", "failure", "OutOfMemory", r"(?:^|[\s:=\"'])OutOfMemory(?!Error)"),
    pattern("host.oom", "failure", "Out Of Memory", r"srun: error.*Out Of Memory"),
    pattern("host.oom", "failure", "OUT_OF_ME"),
    pattern("host.oom", "failure", "due to memory pressure (OOM)", r"(?:ip=|IP: )(?P<address>[\d.]+)"),
    pattern("host.oom", "failure", "due to the node running low on memory"),
    pattern(
        "mpi.exit",
        "echo",
        "exited on signal",
        r"(?:process rank (?P<rank>\d+)|task \d+).*?on node (?P<node>[\w.-]+) exited on signal (?P<signal>\d+)",
    ),
    pattern("mpi.exit", "echo", "exited with non-zero status"),
    pattern("mpi.exit", "echo", "a non-zero exit code"),
    pattern("mpi.exit", "echo", "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"),
    pattern("mpi.exit", "echo", "MPI_ABORT was invoked", r"invoked on rank (?P<rank>\d+)"),
    pattern("mpi.no-start", "failure", "unable to reliably start one or more daemons"),
    pattern("mpi.no-start", "failure", "Host key verification failed"),
    pattern("mpi.no-start", "failure", "ssh: ", r"ssh: (?:connect to host|Could not resolve)"),
    pattern("mpi.no-start", "failure", "not enough slots available"),
    pattern("mpi.no-start", "failure", "ssh exited with exit code 255"),
    pattern("mpi.truncated", "failure", "MPI_ERR_TRUNCATE"),
    pattern("mpi.killed", "failure", "EXIT CODE: 9"),
    pattern("mpi.lost", "failure", "ORTE has lost communication with a remote daemon"),
    pattern("mpi.lost", "failure", "PRTE has lost communication"),
    pattern(
        "job.preempted",
        "failure",
        "reempt",
        r"(?:\b(?:was|been|is|being|job|node|pod) preempted|^\s*(?:Warning|Normal)\s+Preempt\w*|[Pp]"
        r"reemption (?:notice|signal|event)|reason:? \"?Preempt)",
    ),
    pattern(
        "job.preempted", "failure", "Evicted", r"(?:Reason:|reason:|Warning|Status:)\s*\"?Evicted|\bEvicted\b.*pod"
    ),
    pattern("job.preempted", "failure", "TaintManagerEviction"),
    pattern("job.preempted", "failure", "spot ", r"spot (?:instance )?(?:interruption|termination|reclaim)"),
    pattern("job.preempted", "failure", "Spot ", r"Spot (?:instance )?(?:interruption|termination|reclaim)"),
    pattern(
        "job.preempted",
        "failure",
        "maintenance",
        r"(?:TERMINATE_ON_HOST_MAINTENANCE|maintenance event|for maintenance)",
    ),
    pattern(
        "job.sigterm", "failure", "SIGTERM", r"(?:[Rr]eceived|[Cc]aught|[Gg]ot|[Bb]ypassing) (?:signal )?SIGTERM"
    ),
    pattern(
        "job.sigterm",
        "failure",
        " signal",
        r"[Rr]eceived (?:Signals\.)?(?:15|2|1|SIG(?:TERM|INT|HUP)) death signal|got signal: (?:15|2|1)\b"
        r"|(?:Received|Bypassing) signal (?:15|2|1)\b",
    ),
    pattern("job.sigusr", "failure", "SIGUSR1", r"(?:[Rr]eceived|[Cc]aught|[Gg]ot) (?:signal )?SIGUSR1"),
    pattern("job.interrupted", "failure", "KeyboardInterrupt", r"^(?:.*: )?KeyboardInterrupt\b"),
    pattern("job.interrupted", "failure", "^C", r"^\^C"),
    pattern("job.interrupted", "failure", "sending Ctrl-C to"),
    pattern("job.interrupted", "failure", "closing signal SIGINT"),
    pattern("job.terminated", "failure", "forcing job termination"),
    pattern("job.terminated", "failure", "Terminated", r"^Terminated$"),
    pattern("job.killed", "failure", "Killed", r"^(?:.*: line \d+: +\d+ )?Killed\b\s*(?:$|[a-z./(])"),
    pattern("job.actor-died", "echo", "ActorDiedError"),
    pattern("job.actor-died", "echo", "Worker unexpectedly exits"),
    pattern("job.actor-died", "echo", "worker died or was killed", r"(?:Worker IP address: (?P<peer>[\d.]+))?$"),
    *(
        pattern(
            "job.stalled",
            "failure",
            f"no {what}",
            rf"\bno {what}s?\b.*\b(?:for|in|since) \d+ ?(?:s\b|sec|min|m\b|hours)",
        )
        for what in ("step", "progress", "heartbeat", "output", "iteration")
    ),
    pattern(
        "job.progress",
        "state",
        "loss",
        r"(?i)\b(?:step|iter\w*|epoch|it)\b\W{0,4}(?P<step>\d+).*\bloss\b|['\"]loss['\"]: ",
    ),
    pattern("job.progress", "state", "/it", r"(?P<step>\d+)/\d+ \[.*s/it"),
    pattern("job.progress", "state", "it/s", r"(?P<step>\d+)/\d+ \[.*it/s"),
    *(
        pattern("job.progress", "state", f"{what}{per}", rf"(?:\b|_){what}{per}")
        for what in ("tok", "tokens", "samples", "Tokens")
        for per in ("/s", "_per_sec")
    ),
    pattern(
        "job.timed-out",
        "failure",
        "timeout",
        r"Killed\s+(?:\w+=\S+ )*timeout\b|timeout: sending signal|(?:exit|exited|rc)\D{0,12}124\b",
    ),
    pattern("job.completed", "success", "exits successfully"),
    pattern("job.completed", "success", "raining completed", r"[Tt]raining completed"),
    pattern("job.completed", "success", "raining finished", r"[Tt]raining finished"),
    pattern("job.completed", "success", "raining complete"),
    pattern("job.completed", "success", "train_runtime", r"['\"]train_runtime['\"]"),
    pattern("job.completed", "success", "Trainer.fit` stopped"),
    pattern("job.completed", "success", "rc=0", r"\brc=0\b"),
    pattern("job.completed", "success", "code 0", r"exited with code 0\b"),
    pattern(
        "job.completed",
        "success",
        "ucceeded",
        r"(?:phase|status|state|Job|job):? ?(?:has )?[Ss]ucceeded\b|^Succeeded$",
    ),
    pattern(
        "job.completed",
        "success",
        "ompleted",
        r"(?:main container|job|run|training|benchmark|all ranks|workers?) completed(?: successfully)?\b|c"
        "ompleted successfully",
    ),
    pattern("job.completed", "success", "max steps reached"),
    pattern(
        "job.completed",
        "success",
        "inished",
        r"(?i)\ball (?:\d+ )?(?:epochs?|steps?|iterations|ranks|workers|tasks) (?:are |have )?finished\b",
    ),
    pattern(
        "job.completed",
        "success",
        "raining",
        r"(?i)\b(?:finished|completed|done) training\b|\btraining (?:took|done|time)\b",
    ),
    pattern(
        "job.completed",
        "success",
        "inal ",
        r"(?i)\bfinal (?:checkpoint|model) (?:saved|written)\b|\bsaved final\b",
    ),
    pattern("job.completed", "success", "return code = 0"),
    pattern("job.completed", "success", "job finished"),
    pattern("job.completed", "success", "exit code 0", r"(?:exited with|with|finished,?) exit code 0\b"),
    pattern("job.completed", "success", "done", r"^(?:all )?done\b(?!:? [\d.]+%)"),
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What a scheduler or a user does in a line."""
    for item, fields in found(PATTERNS, line.text):
        yield event(item, line, fields, host=fields.get("node") or fields.get("address"))
