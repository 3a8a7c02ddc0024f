"""Boxed messages of mpirun, Open MPI, and its runtime: why a job does not start, and what is unusable on a host.

They are wrapped at 75 characters, so a literal is short enough for one line.
"""

from nccltool.triage.logs.patterns import table

PATTERNS = table(r"""
failure
    app.launch        `nable to launch the specified app|nable to start the specified app|o executable was spec`
    app.launch        `was given an option that|given two conflicting directives|given a negative number`
    app.launch        `open the hostfile|error in the hostfile|open the rankfile`
    app.launch        `encountered a line that` => specified a
    app.launch        `attempt to run as root`
    app.launch        `not in your allocation|specification asked for more|than the ppr for this|one node not pre`
    app.launch        `o allocated resources for the app|odes are available for this job|job are already filled`
    app.launch        `failed to map because the|were requested than there are dev|nable to launch it at this time`
    app.launch        ^(?!.*WARNING).*`request was made to bind`
    app.launch        `tried to bind a new process|tried to bind memory for a new` => ^(?:ORTE|PRTE|PRRTE|Open MPI)
    app.launch        `directive is not recognized|contains an unrecognized qual|rankfile was not specified`
    app.launch        `given that requires a value|contains a pattern that doesn`
    app.launch        `o slots were found in the Grid|nodes can be allocated|No nodes were found in the PBS`
    limits.files      `number of pipes that can be|number of files that can be|number of pipes a process can`
    limits.files      `number of network connections that can`
    net.no-interface  `usable network interfaces were found`
    net.no-answer     `handshake with a connecting peer|look up the peer IP`
    net.no-answer     `establish full connectivity|establish any connectivity` => unable to establish
    plugin.ofi-failed  `failed an OFI Libfabric library call` => library call \((?P<call>\w+)\)
    plugin.ofi-failed  `not able to find endpoint`.*
    ib.no-such-device  `unable to open an endpoint` => PSM\d? was unable
    env.refused       `alid value was supplied for an MCA`
    env.rejected      `exclusive MCA variables were spec`
    env.refused       `set to a value which is too` => MCA parameter|BTL was set
    ib.register-failed  `failed to register your buffer`
    env.refused       `alid value was given for `(?:the )?(?P<name>(?:btl|oob|mtl|pml)_(?!\w*if_)\w+)
    mpi.bad-call      `attempted to initialize MPI|was invoked before MPI was` => ^
    mpi.no-start      `PMI` => \bPMI[2X]?_\w+ failed
    mpi.no-start      `process starter|from launching the per-node` => (?:lsb_launch|non-zero exit status|failed)
    gdr.failed        `GPU RDMA protocol cannot|during the GPU RDMA`
    shm.full          `shared-memory backing file|shared memory backing file` => (?i)not enough space
    version.build     `detected a mismatch in versions` => (?:PRTE|PRRTE|ORTE|PMIx|Open MPI)
state
    log.instead       `ransport will be used|etwork will be used|rotocol will be used` => (?i)\banother\b
doubt
    app.launch        `try again` => ^(?!.*(?:network|connect|[Ii]nternet|server|later)).*\b[Pp]lease (?:check|
                      correct|specify|provide|revise|choose)\b.*\btry again
    app.launch        `is not recognized|not recognized:` => ^(?:The|An?) .{0,60}\b(?:directive|option|qualifier|
                      modifier|policy|argument|level)\b
""")
