"""Events of Kubernetes and of schedulers above it, of container runtimes, and what Ray cannot place."""

from nccltool.triage.logs.patterns import table

PATTERNS = table(
    r"""
failure
    job.no-image       `Failed to pull image|pull access denied|manifest unknown|InvalidImageName`
    job.no-image       `ImagePullBackOff|ErrImagePull|ErrImageNeverPull|ImageInspectError|CreateContainer` => (?:
                       Error: |reason: |Reason:? +|Waiting\b.*|\d/\d +)\S*(?:ImagePullBackOff|ErrImagePull|
                       ErrImageNeverPull|ImageInspectError|CreateContainer\w*Error)
    app.launch         `kubelet` => Warning +(?!.*\bpull image)(?:Failed|InspectFailed|Failed\w+Hook|
                       FailedValidation) .*kubelet
    app.launch         `could not select device driver`
    app.launch         `RunContainerError|StartError|ContainerCannotRun` => (?i)reason|waiting|error:|\d/\d +Run
    job.pod-failed     `Back-off restarting failed|BackoffLimitExceeded|reached the specified backoff limit`
    job.pod-failed     `CrashLoopBackOff`
    host.oom           `System OOM encountered|SystemOOM`
    host.oom           `emory cgroup out of memory|EvictionThresholdMet` => out of memory|memory
    job.preempted      `EvictedByPreemption|EvictionByEviction|NodeShutdown|TerminationByKubelet`
    job.preempted      `Preempted to accommodate|preempted to accommodate`
    job.preempted      `pod was rejected|node is shutting down|deletionTimestamp` => (?i)shutting down|shutdown
    job.preempted      `DeletingNode|ScaleDown|Draining node|NodeDrain` => (?i)pod|node
    job.time-limit     `DeadlineExceeded` => ^(?!.*(?:code = |rpc |context |status: )).*\bDeadlineExceeded\b
    job.terminated     `Stopping container` => Normal +Killing
    job.cancelled      `EvictedByDeactivation|job is suspended|Job suspended`
    job.node-failed    `NodeNotReady|NodeLost|Node is not ready|NodeHasDiskPressure|node.kubernetes.io/un` => (?:
                       [Nn]ode (?P<node>(?!is\b)[a-z][\w.-]*\d[\w.-]*))?
    job.node-failed    `became not ready|node is not responding|status is now: NodeNotReady` => (?:[Nn]ode
                       [ ](?P<node>[a-z][\w.-]*\d))?
    job.probe-failed   `iveness probe failed|failed liveness probe|failed startup probe`
    shm.full           `dev/shm` => (?i)emptyDir.*(?:usage|exceeds).*shm|shm.*exceeds the limit
    job.preempted      `exceeds the total limit|local ephemeral` => (?i)usage (?:of|exceeds)|exceeds
    version.library    `initialization error: load library failed|libnvidia-ml.so.1: cannot open`
    cuda.no-device     `nvidia-container-cli: ` => no devices? (?:found|detected)|no such device|error: not found
    job.pod-failed     `jobset failed due to|replica(s) failed`
    job.node-failed    `has been rebooted, boot id` => [Nn]ode (?P<node>[a-z][\w.-]*)
    job.terminated     `within specified grace period`
    kernel.nvml        `nvidia-container-cli: ` => nvml error: (?:unknown error|gpu is lost)
state
    job.deleted        `" deleted` => ^(?:pod|job[\w.]*|\w+(?:job|cluster|set)\.[\w.-]+) "(?P<name>[\w.-]+)"
                       [ ](?:force )?deleted
    job.image-pulled   `Successfully pulled image|already present on machine`
    job.pod-pending    `FailedScheduling|NotTriggerScaleUp|Unschedulable` => (?:Warning|Normal)\s+\w+
    job.pod-pending    `FailedMount|FailedAttachVolume|FailedCreatePodSandBox|NetworkNotReady` => Warning\s+\w+
    job.pod-started    `Successfully assigned|Started container`
    job.pod-pending    `exceeded quota` => forbidden|pods
    job.pod-pending    `FailedMount` => (?:secret|configmap|persistentvolumeclaim)\b.*not found
    job.pod-pending    `nodes are available` => ^.*\b0/\d+ nodes are available
    job.pod-pending    `didn't match|untolerated taint|Insufficient ` => \d+ (?:node\(s\)|Insufficient)
    job.pod-pending    `No available node types can fulfill|cannot be scheduled right now`
    job.pod-pending    `o feasible placement|annot be placed|nfeasible resource` => (?i)placement|infeasible
    job.pod-pending    `insufficient quota|borrowing limit|couldn't assign flavors|not enough resource`
""",
    hosts_in=("node",),
)
