"""Connections and names as other libraries report them: gRPC, Go, Ray, JAX, Open MPI, and proxies."""

from nccltool.triage.logs.patterns import table

_NO_ANSWER = r"(?i:timed out|i/o timeout|no route to host|network is unreachable|host is unreachable)"

PATTERNS = table(
    r"""
failure
    net.no-answer        `dial tcp` \[?(?P<peer>[\w.:-]+)\]?:\d+: .*{NO_ANSWER}
    net.no-answer        `onnect to remote host` => (?:ipv[46]:)?(?P<peer>[\d.]+)?(?::\d+)?.*connect to
                         [ ]remote host:.*{NO_ANSWER}
    net.no-answer        `failed to connect to all addresses` => ipv[46]:\[?(?P<peer>[\w.:%]+?)
                         \]?:\d+: .*{NO_ANSWER}
    net.no-answer        `RDMA_CM_EVENT_UNREACHABLE`
    net.no-answer        `failed to TCP connect|mca_btl_tcp_endpoint` => (?:connect\(\) to (?P<peer>[\w.]+).*)?
                         {NO_ANSWER}
    net.no-answer        `Errno 1`(?:01|10|13)\b
    net.no-answer        `connect() to `(?P<peer>[\d.]{7,15}):\d+ failed$
    net.no-answer        `establish connection to redis` (?P<peer>[\d.]{7,15})
    net.no-answer        `Failed to forward task ` => \bat (?P<peer>[\d.]{7,15}):\d+
    net.no-answer        `to GCS` => (?i)gcs\b(?:.*? (?P<peer>[\d.]{7,15}))?.*{NO_ANSWER}
    net.no-answer        `[UFW BLOCK]` => \bSRC={PRIVATE}\S+ DST=(?P<peer>{PRIVATE}[\d.]+)
    net.no-answer        `unable to complete a TCP connection`
    net.no-answer        `upstream connect error|filter_chain_not_found|blackhole`
    store.unresolved     `no such host` => lookup (?P<host>[\w.-]+).*no such host|no such host
    store.unresolved     `ENOTFOUND|nodename nor servname|UnknownHostException`
    store.unresolved     `Could not resolve hostname` (?P<host>[\w.-]+)
    store.unresolved     `host` => (?i)\bhost(?:name)?\b.{0,60}\b(?:cannot|could not|can't) be resolved
    store.unresolved     `No address associated with hostname`
    store.no-address     `Cannot assign requested address` => ^(?!.*NCCL).*Cannot assign requested address
    store.too-few        ^(?!.*[Ss]hutdown barrier).*?\b(?P<joined>\d+) ?(?:/|of) ?(?P<expected>\d+)
                         [ ]`tasks |workers |hosts |nodes `(?:reached the barrier|(?:have )?joined)
    store.too-few        `imed out waiting for`\D{0,12}(?P<joined>\d+) of (?P<expected>\d+) (?:processes|workers|
                         tasks|
                         nodes|hosts|ranks)
    store.too-few        `Barrier timed out|RegisterTask` => (?i)^(?!.*\bid: (?!\S*(?:init|connect|regist)))
                         .*(?:DEADLINE_EXCEEDED|timed out|UNAVAILABLE)
    store.no-environment `MASTER_ADDR|MASTER_PORT` => (?P<name>MASTER_(?:ADDR|PORT))\b.*(?:not set|unset|missing|
                         must be set|required|is empty)
    net.no-interface     `interface` => (?i)\binterface:? '?(?P<interface>(?!on\b|is\b|for\b|and\b)[\w.-]{2,15})'?
                         [ ](?:was |is )?(?:not found|does not exist|not (?:present|available)|has no address)
    net.no-interface     `ommon` => (?i)^(?!.*lack of common).*common (?:\w+[ -]){0,4}(?:routable|routed|network|
                         communication) interfaces?|common routable|routed interfaces are common
    net.no-interface     `is not available` => device '(?P<interface>(?:e(?:th|n)|bond|br|wl|ib)[\w.-]*)
                         (?::\d+)?' is
                         [ ]not available
    net.no-interface     `interface` => (?i)(?:can'?t|cannot|could not|unable to|failed to) find (?:\w+ ){0,3}
                         interface
                         [ ](?:named |called )?'?(?P<interface>(?!for\b|on\b|with\b|that\b)[\w.-]{2,15})
    net.no-interface     `interface` => (?i)\bno (?:\w+ ){0,2}interface (?:matches|matching|named|called)\b
    net.no-interface     `SIOCGIFADDR|SIOCGIFINDEX|None of the TCP networks`
    net.no-interface     `if_include|if_exclude` => (?i)(?:invalid|no such|unknown|not found|does not exist).*
                         (?:interface: (?P<interface>\S+))?
    net.no-answer  `DPT=` => (?i)\b(?:block|drop|reject|deny|denied)\w*\b.*\bIN=\S* .*SRC=(?P<own>[\d.]+)
                   [ ]DST=(?P<peer>[\d.]+)
    net.no-answer  `estination Host Unreachable|ommunication administratively prohibited|Packet filtered`
    net.no-answer        `nc: connect to ` => connect to (?P<peer>[\w.-]+) port \d+ .*(?:timed out|[Nn]o route|un
                     reachable)
    store.unanswered     `onnect to coordination service` => (?:at|to) (?P<host>[\d.]{7,15}):(?P<port>\d+)
    net.no-interface     `etwork interfaces were found for out-of-band`
    net.no-own-address   `appropriate binding address`
    net.no-own-address   `ocal ip|ocal IP` => (?i)\b(?:can ?not|can't|could not|failed to|
                         unable to) get (?:the )?local ip
    net.stranger         `have a unique IP address` => (?:\{\W?(?P<peer>[\d.]{7,15})\W?\})?
    net.stranger         `received unexpected process identifier` => (?:from (?P<peer>[\d.]{7,15}))?$
    net.stranger         `accepted a TCP connection from what appears`
state
    net.pinged           `ping statistics` => --- (?P<peer>[\w.:-]+) ping statistics ---$
    net.listed           `btl:tcp: ` => btl:tcp: \S+ if (?P<interface>\S+) .*\baddr (?P<address>[\d.]+)
    net.mesh             `istio-proxy|istio-injection=enabled|Envoy proxy|envoy connection|linkerd-proxy`
doubt
    net.any-address      `ailed to get the IP address, using 0.0.0.0`
    net.no-ping          `packets transmitted, 0 received`
    net.refused          `dial tcp` \[?(?P<peer>[\w.:-]+)\]?:(?P<port>\d+): .*connection refused
    store.unanswered     `onnect to remote host` => ^(?:.*?ipv4:(?P<host>[\d.]+):(?P<port>\d+))?.*onnect to
                         [ ]remote host: .*Connection refused
    store.unanswered     `to GCS` => (?i)(?:fail|unable|could not)\w* .*gcs\b(?!.*{NO_ANSWER})(?:.*?
                         [ ](?P<host>[\d.]{7,15}))?(?::(?P<port>\d+))?
""",
    PRIVATE=r"(?:10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.)",
    NO_ANSWER=_NO_ANSWER,
)
