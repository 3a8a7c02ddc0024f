"""What NCCL says when one of its own checks fails, or when a program calls its newer interfaces wrongly."""

from nccltool.triage.logs.patterns import table

PATTERNS = table(r"""
failure
    nccl.internal      `: pass NULL socket|schedule creation has bugs|Proxy append |has next set!`
    nccl.internal      `ist loop at element`
    nccl.internal      `unexpected socket state|wrong socket state|nexpected connections are not empty`
    nccl.internal      `Unknown pattern |Unknown collective |Unknown collnet pattern|Unknown device code index`
    nccl.internal      `Internal error : `(?:tree already|Unknown)
    nccl.internal      `opId=` => (?:doesn't match any expected|already completed|nonexistent|Couldn't find) ?
    nccl.internal      `Attempting to dequeue null|incomplete proxy op chain|is neither send or recv`
    nccl.internal      `Could not find pool of op |plan not aligned|Invalid regBufType|Error freeing shared buffer`
    nccl.internal      `of pool` \d+ has been lost
    nccl.internal      ` out of bounds [0, `
    nccl.internal      `Failed to determine `(?:local|intra)
    nccl.internal      `at head of strong stream|unknown desc type|no inflight credit|ran out of channel space`
    nccl.internal      `descriptor is not a ` => (?:Proxy|proxy).*descriptor is not a
    nccl.internal      `Failed to join thread for job|reeing ptr |Unknown device error |Trying to launch too many `
    nccl.internal      `failed to join thread for job|waiting for pthread_join|Thread join failed`
    nccl.internal      `CUDA Graph helper `
    nccl.internal      `[Rem Allocator] Poll|[Rem Allocator] Failed to set|file descriptor is -1`
    nccl.internal      `bootstrapInit: handles|bcastGrowHandle|called with NULL request|Receiver expected a 'recv'`
    nccl.internal      `RECV_RDMA_WITH_IMM and req|replay using an old request`
    nccl.internal      `ddress map |bject pointer is NULL|Invalid key size |No allocation found at |in shadow pool`
    nccl.internal      `No suitable space found to|extends beyond allocation|Deregister: Could not find`
    nccl.internal      `MemManager: `(?:Cannot (?:un)?track|Cannot mark|Buffer ptr|Could not find|Unknown)
    nccl.internal      ` deregister ` => rank \d+ deregister (?:NET|NVLS|IPC) buffer .* failed
    nccl.internal      `nvalid intra-node rank|RAS received unknown|RAS thread terminating`
    nccl.internal      `ommand ` => \[Service thread\] Unknown command
    nccl.internal      `Assertion ` => \b(?:nccl[A-Z]\w+|\w*(?:proxy|enqueue|symmetric|bootstrap|transport|
                       group)\.cc)\b.*\bAssertion .* failed
    nccl.bad-argument  `ncclPutSignal|ncclSignal: |ncclWaitSignal: |valid symmetric window|MemManager: Already`
    nccl.bad-argument  `User requested GIN|No exclusive GIN|Window address must be|window has a NULL`
    nccl.bad-argument  `not in the valid lsaSize|MemManager: Not in suspended|not in the same symmetric`
    nccl.bad-argument  `nvalig config |is not a valid value 0/1|does not satisfy symmetric registration`
    nccl.bad-argument  `be captured by the expected graph|being captured by the expected graph|exceeds ndev=`
    nccl.bad-argument  `Too many async operations in progress|Too many aggregated operations|Illegal to have some `
    nccl.bad-argument  `is invalid (must be 0)|is not a member of the LSA team|communicator matching window `
    nccl.bad-argument  `multiple physical segments|host RMA is not supported|Cannot create worldGinBarrier`
    nccl.bad-argument  `Split shares resources|uspend not supported|esume not supported`
    nccl.mismatch      `be caused by a collective mismatch` => around rank (?P<rank>\d+)
    env.refused        ` is set to 0. Plea` => but (?P<name>NCCL_\w+) is set to 0
    version.no-library  `Failed to find CUDA library|PFN functions not found|cuDriverGetVersion failed`
    version.driver     `due to old driver|NCCL does not support this CUDA|NCCL library version is too old`
    gdr.failed         `gdr_` => gdr_(?:copy|pin|unpin|map|unmap|get_info|close)\w*\(.*failed
    sharp.fallback     `mixed local CollNet device counts|CollNet currently only supports`
    topology.no-transport  `has no transport for |Error no transport for `
doubt
    nccl.ignored-value  '?(?P<name>NCCL_[A-Z0-9_]+)(?:=\d+'?)? `is too small. Minimum|set to a value greater than`
    nccl.ignored-value  `User asked for a m` => User asked for a (?:min|max)imum of \d+ channels
    nccl.ignored-value  Invalid (?P<name>NCCL_[A-Z0-9_]+) -?\d+ \(`must be a multiple|maximum |minimum `
    nccl.ignored-value  `ignoring NCCL_` => ignoring (?P<name>NCCL_[A-Z0-9_]+)=
""")
