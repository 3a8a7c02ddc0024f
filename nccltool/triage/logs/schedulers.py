"""What starts and ends jobs: Slurm, mpirun, Kubernetes, Ray, the user."""

from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine, each, echo, event, failure, found, state, success

PATTERNS = (
    failure(
        "job.cancelled",
        " CANCELLED ",
        r"(?:JOB|STEP) (?P<job>[\w.+]+) ON (?P<node>[\w.-]+) CANCELLED AT \S+(?: (?P<why>DUE TO [A-Z ]+))?",
    ),
    failure("job.time-limit", "DUE TO TIME LIMIT"),
    failure("job.preempted", "DUE TO PREEMPTION"),
    failure("job.time-limit", "walltime", r"walltime \d+ exceeded limit"),
    failure("job.time-limit", "TERM_RUNLIMIT"),
    failure("job.cancelled", "TERM_", r"TERM_(?:OWNER|ADMIN)\b"),
    failure("job.cancelled", "ancel", r"(?i)\buser cancell?ed\b|\bcancell?ed by (?:the )?user\b"),
    *each(failure, "job.preempted", "TERM_PREEMPT", "The node was low on resource"),
    failure("job.node-failed", "DUE TO NODE FAILURE"),
    failure("job.node-failed", "Node failure on", r"Node failure on (?P<node>[\w.-]*\w)"),
    echo(
        "job.exit", "srun: error:", r"srun: error: (?P<node>[\w.-]+): tasks? (?P<tasks>[\d,\-\[\]]+): (?P<how>.+)"
    ),
    state("job.state", "FAILED", r"^\s*\d+\S*\s+(?:\S+\s+)?(?P<state>FAILED|NODE_FAIL)\b"),
    failure("job.preempted", "PREEMPTED", r"^\s*\d+\S*\s+(?:\S+\s+)*PREEMPTED\b"),
    failure("job.time-limit", "TIMEOUT", r"^\s*\d+\S*\s+(?:\S+\s+)?TIMEOUT\s+\d+:\d+"),
    success("job.completed", "COMPLETED", r"^\s*\d+\S*\s+(?:\S+\s+)*COMPLETED\s+(?:.*\s)?0:0\b"),
    success("job.completed", "State: COMPLETED"),
    *each(failure, "host.oom", "oom-kill", "oom_kill"),
    failure("host.oom", " oom", r"Detected \d+ oom(?![-_]kill)"),
    *each(failure, "host.oom", "OOM Killed", "TERM_MEMLIMIT"),
    failure("host.oom", "job killed: ", r"job killed: [pv]?mem\b.*exceeded limit"),
    failure("host.oom", "xceeded ", r"[Ee]xceeded (?:job |step )?memory limit"),
    failure("host.oom", "OOMKilled"),
    failure("host.oom", "OutOfMemory", r"(?:^|[\s:=\"'])OutOfMemory(?!Error)"),
    failure("host.oom", "Out Of Memory", r"srun: error.*Out Of Memory"),
    failure("host.oom", "OUT_OF_ME"),
    failure("host.oom", "due to memory pressure (OOM)", r"(?:ip=|IP: )(?P<address>[\d.]+)"),
    failure("host.oom", "due to the node running low on memory"),
    echo(
        "mpi.exit",
        "exited on signal",
        r"(?:process rank (?P<rank>\d+)|task \d+).*?on node (?P<node>[\w.-]+) exited on signal (?P<signal>\d+)",
    ),
    *each(
        echo,
        "mpi.exit",
        "exited with non-zero status",
        "a non-zero exit code",
        "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    ),
    echo("mpi.exit", "MPI_ABORT was invoked", r"invoked on rank (?P<rank>\d+)"),
    *each(failure, "mpi.no-start", "unable to reliably start one or more daemons", "Host key verification failed"),
    failure("mpi.no-start", "ssh: ", r"ssh: (?:connect to host|Could not resolve)"),
    *each(failure, "mpi.no-start", "not enough slots available", "ssh exited with exit code 255"),
    failure("mpi.truncated", "MPI_ERR_TRUNCATE"),
    failure("mpi.killed", "EXIT CODE: 9"),
    *each(failure, "mpi.lost", "ORTE has lost communication with a remote daemon", "PRTE has lost communication"),
    failure(
        "job.preempted",
        "reempt",
        r"(?:\b(?:was|been|is|being|job|node|pod) preempted|^\s*(?:Warning|Normal)\s+Preempt\w*|[Pp]"
        r"reemption (?:notice|signal|event)|reason:? \"?Preempt)",
    ),
    failure("job.preempted", "Evicted", r"(?:Reason:|reason:|Warning|Status:)\s*\"?Evicted|\bEvicted\b.*pod"),
    failure("job.preempted", "TaintManagerEviction"),
    failure("job.preempted", "spot ", r"spot (?:instance )?(?:interruption|termination|reclaim)"),
    failure("job.preempted", "Spot ", r"Spot (?:instance )?(?:interruption|termination|reclaim)"),
    failure(
        "job.preempted", "maintenance", r"(?:TERMINATE_ON_HOST_MAINTENANCE|maintenance event|for maintenance)"
    ),
    failure("job.sigterm", "SIGTERM", r"(?:[Rr]eceived|[Cc]aught|[Gg]ot|[Bb]ypassing) (?:signal )?SIGTERM"),
    failure(
        "job.sigterm",
        " signal",
        r"[Rr]eceived (?:Signals\.)?(?:15|2|1|SIG(?:TERM|INT|HUP)) death signal|got signal: (?:15|2|1)\b"
        r"|(?:Received|Bypassing) signal (?:15|2|1)\b",
    ),
    failure("job.sigusr", "SIGUSR1", r"(?:[Rr]eceived|[Cc]aught|[Gg]ot) (?:signal )?SIGUSR1"),
    failure("job.interrupted", "KeyboardInterrupt", r"^(?:.*: )?KeyboardInterrupt\b"),
    failure("job.interrupted", "^C", r"^\^C"),
    *each(failure, "job.interrupted", "sending Ctrl-C to", "closing signal SIGINT"),
    failure("job.terminated", "forcing job termination"),
    failure("job.terminated", "Terminated", r"^Terminated$"),
    failure("job.killed", "Killed", r"^(?:.*: line \d+: +\d+ )?Killed\b\s*(?:$|[a-z./(])"),
    *each(echo, "job.actor-died", "ActorDiedError", "Worker unexpectedly exits"),
    echo("job.actor-died", "worker died or was killed", r"(?:Worker IP address: (?P<peer>[\d.]+))?$"),
    *(
        failure(
            "job.stalled", f"no {what}", rf"\bno {what}s?\b.*\b(?:for|in|since) \d+ ?(?:s\b|sec|min|m\b|hours)"
        )
        for what in ("step", "progress", "heartbeat", "output", "iteration")
    ),
    state(
        "job.progress", "loss", r"(?i)\b(?:step|iter\w*|epoch|it)\b\W{0,4}(?P<step>\d+).*\bloss\b|['\"]loss['\"]: "
    ),
    state("job.progress", "/it", r"(?P<step>\d+)/\d+ \[.*s/it"),
    state("job.progress", "it/s", r"(?P<step>\d+)/\d+ \[.*it/s"),
    *(
        state("job.progress", f"{what}{per}", rf"(?:\b|_){what}{per}")
        for what in ("tok", "tokens", "samples", "Tokens")
        for per in ("/s", "_per_sec")
    ),
    failure(
        "job.timed-out",
        "timeout",
        r"Killed\s+(?:\w+=\S+ )*timeout\b|timeout: sending signal|(?:exit|exited|rc)\D{0,12}124\b",
    ),
    success("job.completed", "exits successfully"),
    success("job.completed", "raining completed", r"[Tt]raining completed"),
    success("job.completed", "raining finished", r"[Tt]raining finished"),
    success("job.completed", "raining complete"),
    success("job.completed", "train_runtime", r"['\"]train_runtime['\"]"),
    success("job.completed", "Trainer.fit` stopped"),
    success("job.completed", "rc=0", r"\brc=0\b"),
    success("job.completed", "code 0", r"exited with code 0\b"),
    success("job.completed", "ucceeded", r"(?:phase|status|state|Job|job):? ?(?:has )?[Ss]ucceeded\b|^Succeeded$"),
    success(
        "job.completed",
        "ompleted",
        r"(?:main container|job|run|training|benchmark|all ranks|workers?) completed(?: successfully)?\b|c"
        "ompleted successfully",
    ),
    success("job.completed", "max steps reached"),
    success(
        "job.completed",
        "inished",
        r"(?i)\ball (?:\d+ )?(?:epochs?|steps?|iterations|ranks|workers|tasks) (?:are |have )?finished\b",
    ),
    success(
        "job.completed", "raining", r"(?i)\b(?:finished|completed|done) training\b|\btraining (?:took|done|time)\b"
    ),
    success("job.completed", "inal ", r"(?i)\bfinal (?:checkpoint|model) (?:saved|written)\b|\bsaved final\b"),
    *each(success, "job.completed", "return code = 0", "job finished"),
    success("job.completed", "exit code 0", r"(?:exited with|with|finished,?) exit code 0\b"),
    success("job.completed", "done", r"^(?:all )?done\b(?!:? [\d.]+%)"),
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What a scheduler or a user does in a line."""
    for item, fields in found(PATTERNS, line.text):
        yield event(item, line, fields, host=fields.get("node") or fields.get("address"))
