"""What people paste into a log: commands, settings, limits, and the output of tools."""

from nccltool.triage.logs.patterns import table

PATTERNS = table(r"""
state
    shell.command      ^(?:\[[^\]]*\] |\([^)]*\) |[\w@.:~/-]*)?`$ `(?P<command>\S.*)
    shell.command      `+ ` => ^\++ (?P<command>(?!nccltool)[a-zA-Z./].*)
    shell.command      ^`>>> `(?P<command>(?:run\b|[\w./-]+ ).*)
    shell.command      ^`# `(?P<command>(?:mpirun|mpiexec|srun|torchrun|python\S*|\./|bash|accelerate|deepspeed|
                       docker|nerdctl|kubectl exec|timeout|NCCL_|env |sudo|vllm|lmdeploy).*)
    shell.command      `===== ` => ^=+ (?P<command>.*\brun\b.*) =+$
    shell.env          \b(?P<name>(?:TORCH_)?`NCCL_|GLOO_|MASTER_`[A-Z0-9_]+)=(?P<value>[^\s'"]+)
    shell.memlock      (?P<name>`max locked memory`)\s+\(kbytes, -l\) (?P<limit>\S+)
    shell.memlock      (?P<name>`Max locked memory`)\s+(?P<limit>\S+)
    shell.files        `open files`\s+\(-n\) (?P<limit>\S+)
    shell.driver       `Driver Version:` (?P<driver>[\d.]+)(?:\s+CUDA Version: (?P<cuda>[\d.]+))?
    shell.port-down    `tate:` => ^\s*(?:State: Down|Physical state: (?:Disabled|Polling))
    shell.port-active  `tate:` => ^\s*(?:State: Active|state:\s+PORT_ACTIVE)
    shell.port-active  ^\w+ port \d `==> `\S+ \(Up\)
    shell.port-down    `port_` => state:\s+PORT_DOWN|PORT_DOWN
    shell.acs-on       `ACSCtl`:.*ReqRedir\+
    shell.acs-off      `ACSCtl`:.*ReqRedir-
    shell.iommu        (?:intel|amd)_`iommu=on`(?!.*iommu=pt)
    shell.missing      `cannot access` '(?P<path>[^']+)': No such file
    shell.peermem      `peermem ` => nv(?:idia)?_peer_?mem\s+\d+
    shell.speed        `Speed:` (?P<mbps>\d+)Mb/s
    shell.shm          ^(?:tmpfs|shm)\s+(?P<size>\S+)\s+(?P<used>\S+)\s+(?P<free>\S+)\s+(?P<full>\d+)% `/dev/shm`
    shell.address      \b(?P<interface>[\w.-]{1,15})\s+`inet `(?P<address>[\d.]{7,15})/\d+
    shell.world        (?i)\bw`orld`[_ ]?size[=: ]+(?P<world>\d+)
    shell.world        --`nproc`[_-]per[_-]node[= ](?P<local>\d+)
    shell.world        `num_processes` => --num[_-]processes[= ](?P<world>\d+)
    shell.world        `mpirun` => -np (?P<world>\d+)
    shell.world        ^\s*(?:.*\$ )?`srun`\b.* -n ?(?P<world>\d+)
    shell.world        `--ntasks`[= ](?P<world>\d+)
""")
