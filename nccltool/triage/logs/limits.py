"""Limits of the operating system, as any program reports them: locked memory, open files, and shared memory."""

from nccltool.triage.logs.patterns import table

PATTERNS = table(r"""
failure
    ib.memlock    `locked memory` => (?i)(?:allocate|register|reserve)\w* .{0,20}locked memory|locked memory
                  .*exceed
    ib.memlock    `ulimit -l` => (?i)\b(?:set|raise|increase|check|low|small|limit\w*|fail\w*)\b.*ulimit -l
    ib.memlock    `mlock` => \bmlock(?:all|2)?\b.{0,60}(?:[Ff]ail|Cannot allocate|ENOMEM|EPERM|
                  not permitted|refused)|[Ff]ailed to mlock
    ib.memlock    ` pin ` => (?i)(?:unable|failed|could not|cannot) to pin (?:\w+ ){0,3}(?:memory|pages|buffer)
    ib.memlock    `locked pages|lock pages` => (?i)fail|limit|exceed|refus|could not|cannot
    ib.no-memory  `egister memory|emory region|ompletion queue|ueue pair|fi_mr_reg|rdma_`.*Cannot allocate memory
    ib.no-memory  `post internal receive buffers`
    ib.no-memory  `ENOMEM` => (?i)(?:ibv_|fi_mr|rdma|\bMR\b|register).*ENOMEM
    host.no-space  `o space left on device|isk quota exceeded|tale file handle|quota exceeded (os error` => ^
                  (?!.*(?:Error\b|NCCL|RCCL|/dev/shm|psm_|sem\.|nccl-|torch_|\bshm\b|docker|ucx|UCX|memory|libfabric)).*
    host.no-space `ot enough space left in`
    limits.files  `file-max limit`
    limits.files  `ulimit -n|LimitNOFILE|RLIMIT_NOFILE` => (?i)\b(?:exceed\w*|reached|exhausted)\b
    limits.files  `rrno 24`\b
    limits.files  `file descriptors` => (?i)(?:out of|too many|no more|exhausted|limit .{0,20}) (?:open )?file
                  [ ]descriptors|file descriptors.*(?:exhausted|exceeded)
    shm.full      `o space left on device` => /(?:psm_|sem\.|nccl-|torch_|dev/shm)\w*
    shm.full      `/dev/shm` => (?i)\b(?:not enough|no|insufficient) (?:free )?(?:space|memory|room)\b.*/dev/shm|
                  check that /dev/shm|/dev/shm (?:is (?:full|too small)|has (?:only )?no)
    shm.full      `sage of EmptyDir volume` => EmptyDir volume "[\w-]*shm[\w-]*" exceeds the limit
    shm.full      `/dev/shm` => ^\S+\s+\S+\s+\S+\s+\S+\s+(?:9[6-9]|100)%\s+/dev/shm
    host.io-error `Input/output error|Read-only file system|Remote I/O error|Transport endpoint is not c` => ^
                  (?!.*(?:Error:|NCCL|RCCL|UCX|[Ss]ocket|[Ww]arn|WARN))
                  .*\b(?:ERROR|FATAL|[Ff]ailed to|[Cc]annot)\b.*/
doubt
    host.io-error  `XFS (|EXT4-fs|BTRFS` => (?i)i/o error|EXT4-fs error|BTRFS error|corrupt|shutting down
    host.io-error  `Buffer I/O error|I/O error, dev|critical medium error`
    host.io-error  `nvme` => nvme\d+\S* .*(?:timeout, (?:aborting|reset)|controller is down|Removing after)
    host.io-error  `Input/output error|Read-only file system|Remote I/O error|Transport endpoint is not c` => ^
                  (?!.*(?:Error:|NCCL|RCCL|UCX|socket|Socket)).*(?:/|Errno|mount|write|read|open)
""")
