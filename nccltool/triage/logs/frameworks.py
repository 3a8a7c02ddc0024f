"""What trainers, servers, launchers and their libraries say when they cannot start, or go on no more."""

from nccltool.triage.logs.patterns import table

_NAME = r"\b(?P<name>(?!RANK\b|WORLD_SIZE|LOCAL_|MASTER_|\w*_HOME\b)[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)\b"

PATTERNS = table(
    r"""
failure
    env.refused      `CachingAllocator option|allocator config` => (?:Unrecognized|nvalid|nknown|[Ee]rror).*(?:
                     CachingAllocator option|allocator config)
    env.refused      `nvironment variable` => (?:Error|Exception): .*\b(?:requires?|must|needs? |should|[Pp]lease)
                     .*environment variables?:? ['"\x60]?{NAME}
    env.refused      `nvironment variable` => (?:Error|Exception): .*?{NAME}['"\x60]? environment variables?
                     [ ](?:must|needs?|should|is not set|has to|was not set)
    env.refused      `unset FI_` => requires \w+, unset (?P<name>FI_\w+)
    env.refused      `nvironment variable FI_` => variable (?P<name>FI_\w+) was set, but
    mpi.no-start     `launch failed: ` => srun: error: task \S+ launch failed
    mpi.no-start     `PMK_KVS_Barrier` => task count
    mpi.no-start     `initial ssh checks|Unable to contact slurm controller`
    mpi.no-start     `mpi/pmix` => slurmstepd: error: .*(?:fail|timeout|cannot|refused|abort)
    app.launch       `execve` => slurmstepd: error: execve\(\): (?P<path>.+)
    app.launch       `sbatch: |salloc: |srun: ` => ^(?:sbatch|salloc|srun): (?:fatal: |error: (?:
                     Batch job submission|Job submit/allocate|Invalid |[Uu]nrecognized|Unknown|CPU binding|
                     Memory spec|Unable to open|hostfile))
    app.launch       `pyxis: |enroot` => (?:pyxis|enroot\S*): .*(?:fail|couldn't|could not|error|denied|No such)
    app.launch       `error: pyxis: |container creation failed: |Image architecture doesn`
    app.launch       `OCI runtime `(?:exec|create) failed
    app.launch       `rror response from daemon` => [Ee]rror response from daemon:
    job.node-failed  `Cannot communicate with node ` => with node (?P<node>[\w.-]+)\.
    job.pod-failed   `FailedMount|FailedCreatePodSandBox|FailedAttachVolume` => Warning\s+Failed
    job.pod-failed   `Back-off pulling image|ErrImageNeverPull|CreateContainerError|CreateContainerConfigError`
    store.too-few    `Placement group creation timed out|not all the nodes in the cluster joined`
    store.rendezvous  `EtcdConnectionFailed|EtcdException`
    torch.stuck      `self.watchdog_timeout=`
    torch.oom        `RESOURCE_EXHAUSTED` => Failed to allocate (?:request|\d+|[\d.]+)
    host.oom         `systemd-oomd` => Killed \S+ due to memory
    shm.segment      `failed during shared memory initialization`
    version.build    `relocation error:|symbol lookup error:`
echo
    torch.nccl-error  `NCCL operation ` => NCCL operation .*failed: .*?(?P<error>unhandled (?:cuda|system) error|
                     internal error|invalid argument|invalid usage|remote process exited)
    torch.barrier-echo  `Barrier timed out` => DEADLINE_EXCEEDED
    job.actor-died   `orker proc ` => Worker proc \S+ died unexpectedly
    torch.down       `Horovod has been shut down|EngineDeadError|scheduler is dead|Raylet is dead`
    job.exit         `srun: error: ` => Timed out waiting for job step to complete
state
    job.begun        `Setting OMP_NUM_THREADS environment variable for each process`
    job.begun        `API server version `
    job.begun        `server_args=ServerArgs(`
    job.begun        `[runner.py:` => \bcmd = \S
    job.begun        `***** Running training *****`
    job.begun        `using world size: ` => ^using world size: \d
    job.begun        `Initializing distributed: GLOBAL_RANK: 0,`
    job.begun        `tarted at|tarting at|tart time` => (?i)^\W*(?:the )?(?:job|run|script|training)\b.{0,40}\b
               (?:started at|starting at|start time)
    job.pod-pending  `FailedScheduling|nsufficient nvidia.com/gpu`
""",
    NAME=_NAME,
)
