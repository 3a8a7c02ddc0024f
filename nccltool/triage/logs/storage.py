"""File systems of clusters as their clients and the kernel report them: Lustre, GPFS, Ceph, BeeGFS, NFS, disks."""

from nccltool.triage.logs.patterns import table

PATTERNS = table(r"""
doubt
    host.no-storage  `nfs: server `\S+ not responding
    host.no-storage  `in progress operations using this service will wait`
    host.no-storage  `ptlrpc_expire_one_request` => timed out|network error
    host.no-storage  `LNet` => LNet(?:Error)?: .*(?:[Tt]imed out|unreachable)
    host.no-storage  `ceph: ` => \b(?:lib)?ceph: (?:mds\d+ (?:hung|caps stale)|
                     .*\bosd\d+\b.*(?:down|socket closed|timeout))
    host.no-storage  `mmfs` => \bmmfs\w*: .*\b(?:expel\w*|not responding|lost connection|timed out|lease)\b
    host.no-storage  `eegfs|eeGFS` => (?i)communication error|no response|timed out|unreachable
    host.io-error    `this service will fail` => Lustre.*evicted by
    host.io-error    `mmfs` => \bmmfs\w*: (?:\[E\]|Error=)(?!.*\b(?:expel|not responding|lost connection)\b)
    host.io-error    `ceph: ` => \bceph: mds\d+ (?:rejected|session|came back|recovery)
""")
