"""TCPStore and rendezvous: how ranks find one another."""

from nccltool.triage.logs.patterns import table

PATTERNS = table(r"""
failure
    store.in-use          ^(?:.*(?:port: ?|\]:|\*:|0:)(?P<port>\d{2,5})\b(?!:))?.*[Aa]`ddress already in use`
    store.in-use          `EADDRINUSE` => ^(?!.*ddress already in use)(?:(?:.*?port: ?|.*?\]:)(?P<port>\d+))?
    store.in-use          `failed to listen on any local network address` => ^(?!.*(?:ddress already|EADDRINUSE))
                          (?:(?:.*?port: ?|.*?\]:)(?P<port>\d+))?
    net.no-route          ^(?!.*NCCL)(?:.*?\(?\[?(?P<peer>(?:\d{1,3}\.){3}\d{1,3}))?
                          .*`No route to host|Network is unreachable`
    net.no-route          `ssh: connect to host` (?P<peer>\S+) port \d+: (?:(?:Connection|Operation)
                          [ ]timed out|Connection refused)
    net.no-route          `dial tcp `(?P<peer>[\d.]+)(?::\d+)?: (?:i/o timeout|connect: (?:connection
                          [ ]timed out|no route))
    store.unresolved      `host not found`
    store.unresolved      ^(?!.*(?:HTTPS?ConnectionPool|https?:/)).*(?:gaierror|Error|error).*`name resolution`
    store.unresolved      ^(?!.*\bgai error).*`Name or service not known`
    store.unresolved      `Could not resolve host`
    store.timeout         `client socket has timed out` => timed out after (?P<limit>\w+) while trying to connect
                          [ ]to \(?(?P<host>[\w.:-]+?)[,:] ?(?P<port>\d+)\)?
    store.too-few         (?:Timed out after (?P<limit>\d+) seconds waiting for clients\. )?(?P<joined>\d+)/
                          (?P<expected>\d+) `clients joined`
    store.too-few         Timed out .*`store based barrier`(?:.*world_size=(?P<expected>\d+),
                          [ ](?:worker_count|num_workers_joined)=(?P<joined>\d+))?
    store.timeout         `failed to connect/validate to host `(?P<host>[\w.-]+):(?P<port>\d+) - timed out
    store.timeout         `to any network address of `\((?P<host>[\w.:-]+), (?P<port>\d+)\)
    nccl.bind-failed      `Could not start gRPC server`
    store.timeout         `connect() timed out`\.(?: Original timeout|$)
    store.unresolved      `DNS resolution failed for|failed to lookup address information`
    store.in-use          `different port` => (?:(?:at|port) (?:\S+:)?(?P<port>\d{4,5})\b.*)?
                          [Pp]lease (?:specify|use|choose|select|pick) a(?:nother)? different port
    store.too-few         `SPARK-24819|BarrierJobSlotsNumberCheckFailed`
    store.too-few         `imed out waiting for` => waiting for (?:at least )?(?P<expected>\d+) (?:slots|nodes|
                          workers|processes|hosts) to
    store.rendezvous      `Did not receive response from front-end process`
    store.rendezvous      `WRONGPASS|NOAUTH Authentication required`
    store.no-environment  environment variable (?P<name>[A-Z_]+) `expected, but not set`
    store.no-environment  `No rendezvous handler for|initializing torch.distributed using`
    store.rendezvous      `imed out waiting for |imeout waiting for ` => (?i)waiting for (?:\S+ ){0,4}(?:nodes?|
                          engines?|workers?|clients?|hosts?|processes|replicas)\b.*(?:\bto (?:
                          join|connect|register|start|come up|send ?initial|be ready)|
                          \b(?:info|registration|handshake)\b)
    store.too-few         `annot provide a placement group`
    store.no-environment  `nvironment` => (?i)(?:\brank\b|world.?size|\bMASTER_\w+).{0,40}\b(?:not (?:found|set|
                          defined)|missing).{0,30}\benvironment|environment variables?:? .{0,20}\b(?P<name>
                          RANK|WORLD_SIZE|MASTER_\w+)\b.{0,30}(?:not (?:set|found|defined)|missing|must be set)
    store.rendezvous      `TCPStore` => (?i)TCPStore\b.{0,20}\b(?:connect\w*|init\w*|creat\w*)\b.{0,20}
                          (?:fail|error|timed out|refused)
    store.too-few         (?P<joined>\d+) of (?P<expected>\d+)` nodes joined`
    store.too-few         waiting for all (?P<expected>\d+) `members to join`
    store.rendezvous      `RendezvousTimeoutError|RendezvousConnectionError|RendezvousClosedError`
    store.rendezvous      `rendezvous` => (?i)^(?!.*thread is unstuck).*?(?:
                          tim(?:ed?|ed )[ -]?out\b.{0,60}\brendezvous|rendezvous\b.{0,60}
                          \btim(?:e|ed |ed-)out)
    store.rendezvous      `failed to shutdown the rendezvous|RendezvousStateError`
    store.rendezvous      `Failed to register worker`.*Raylet
    store.rendezvous      `any running Ray instance|node_ip_address.json|Error: Failed to connect to GCS`
    store.rendezvous      `server socket on ` => is not listening for connections
    store.rendezvous      `etcd |Etcd` => (?i)\betcd(?:store| ?server)\b.*(?:tim(?:ed |e)out|exited|not ready)|
                          tim(?:ed |e)out .*\betcd(?:store| ?server)\b
    store.in-use          `another process is |lready in use|lready allocated` => (?i)^(?!.*(?:address already|
                          dashboard|tensorboard|jupyter|prometheus|exporter))
                          .*?\bport\W{1,3}(?P<port>\d{2,5})\b
    store.unresolved      `resolve` => (?i)^(?!.*(?:gloo|rdma_)).*(?:cannot|can't|could not|couldn't|unable to|
                          failed to|error) resolv\w+ (?:
                          the )?(?:host\w*|address|name|node|master|worker|peer)\b
    store.unresolved      `nknown host|nknownHost`
    store.unresolved      `no such host` => lookup (?P<host>[\w.-]+)
    store.rendezvous      `GCS` => (?i)(?:could not|failed to|unable to|cannot) connect to (?:the )?(?:ray )?GCS
    store.unanswered      `coordinator|coordination service|oordination service` => (?i)(?:UNAVAILABLE|failed to
                          connect|could not connect|cannot reach)\b.*(?:refused|timed out|unavailable|deadline)
echo
    store.closed          `c10d] recvV` => recv(?:Value|Vector) failed(?:.*?remote=\[(?P<peer>[\w.:-]+)\]:
                          (?P<port>\d+))?
    store.closed          `c10d] send` => send(?:Value|Vector|Bytes|String) failed(?:.*?remote=
                          \[(?P<peer>[\w.:-]+)\]:(?P<port>\d+))?
    store.closed          `TCPStore server has shut down|got 0 bytes|remote server shutdown or crash`
    store.get-failed      `retrieving ncclUniqueId from|retreiving ncclUniqueId from` \[?(?P<peer>\d+)
    store.get-failed      `wait timeout after` (?P<limit>\d+)ms
    store.get-failed      `Socket Timeout|Wait timeout for key|seconds waiting for key: `
doubt
    store.too-few         `need min_replicas` => only have (?P<joined>\d+) participants, need min_replicas
                          [ ](?P<expected>\d+)
    store.lookup-retry    `gai error` => \((?P<host>[^,()]*), (?P<port>\d+)\) cannot be retrieved
    store.retry           `Retry to connect to ` => (?P<host>[\d.]{7,15}):(?P<port>\d+) while the server is not
    store.retry           `client socket has failed to connect` => failed to connect to \[?(?P<host>[\w.:-]+?)\]?:
                          (?P<port>\d+) \(errno: (?P<errno>\d+) - (?P<error>[\w ]+)
    store.no-hostname     `hostname of the client socket cannot be retrieved`
    store.keep-alive      `failed to send a keep-alive heartbeat`
state
    store.endpoint        `rdzv`[_-]endpoint[=:', "]+(?P<host>[A-Za-z0-9][\w.-]*):(?P<port>\d+)
    store.endpoint        (?i)\bm`aster`_addr[=:' ]+(?P<host>(?!is\b)[A-Za-z0-9][\w.-]*)(?:
                          .*master_port[=:' ]+(?P<port>\d+))?
    store.endpoint        (?i)\bm`aster addr`(?:ess)?: +(?P<host>[\w.-]+)(?:.*port: +(?P<port>\d+))?
    store.endpoint        `rendezvous: endpoint `(?P<host>[A-Za-z0-9][\w.-]*):(?P<port>\d+)
    store.endpoint        `tcp://`\[?(?P<host>[\w.:-]+?)\]?:(?P<port>\d+)
    store.absent          ^`/job:`\S+/task:(?P<task>\d+)$
    store.listening       `has started to listen`
""")
