"""What people paste around a log: commands, settings, limits, and the answers of tools."""

from nccltool.triage.logs.base import state

_RUNS = (
    r"(?:mpirun|mpiexec|srun|torchrun|python\S*|\./|bash|accelerate|deepspeed|docker|nerdctl|kubectl exec|"
    r"timeout|NCCL_|env |sudo|vllm|lmdeploy)"
)
PATTERNS = (
    state("shell.command", "$ ", r"^(?:\[[^\]]*\] |\([^)]*\) |[\w@.:~/-]*)?\$ (?P<command>\S.*)"),
    state("shell.command", "+ ", r"^\++ (?P<command>(?!nccltool)[a-zA-Z./].*)"),
    state("shell.command", ">>> ", r"^>>> (?P<command>(?:run\b|[\w./-]+ ).*)"),
    state("shell.command", "# ", rf"^# (?P<command>{_RUNS}.*)"),
    state("shell.command", "===== ", r"^=+ (?P<command>.*\brun\b.*) =+$"),
    *(
        state("shell.env", family, rf"\b(?P<name>(?:TORCH_)?{family}[A-Z0-9_]+)=(?P<value>[^\s'\"]+)")
        for family in ("NCCL_", "GLOO_", "MASTER_")
    ),
    state("shell.memlock", "max locked memory", r"(?P<name>max locked memory)\s+\(kbytes, -l\) (?P<limit>\S+)"),
    state("shell.memlock", "Max locked memory", r"(?P<name>Max locked memory)\s+(?P<limit>\S+)"),
    state("shell.files", "open files", r"open files\s+\(-n\) (?P<limit>\S+)"),
    state(
        "shell.driver",
        "Driver Version:",
        r"Driver Version: (?P<driver>[\d.]+)(?:\s+CUDA Version: (?P<cuda>[\d.]+))?",
    ),
    state("shell.port-down", "tate:", r"^\s*(?:State: Down|Physical state: (?:Disabled|Polling))"),
    state("shell.port-active", "tate:", r"^\s*(?:State: Active|state:\s+PORT_ACTIVE)"),
    state("shell.port-active", "==> ", r"^\w+ port \d ==> \S+ \(Up\)"),
    state("shell.port-down", "port_", r"state:\s+PORT_DOWN|PORT_DOWN"),
    state("shell.acs-on", "ACSCtl", r"ACSCtl:.*ReqRedir\+"),
    state("shell.acs-off", "ACSCtl", r"ACSCtl:.*ReqRedir-"),
    state("shell.iommu", "iommu=on", r"(?:intel|amd)_iommu=on(?!.*iommu=pt)"),
    state("shell.missing", "cannot access", r"cannot access '(?P<path>[^']+)': No such file"),
    state("shell.peermem", "peermem ", r"nv(?:idia)?_peer_?mem\s+\d+"),
    state("shell.speed", "Speed:", r"Speed: (?P<mbps>\d+)Mb/s"),
    state(
        "shell.shm",
        "/dev/shm",
        r"^(?:tmpfs|shm)\s+(?P<size>\S+)\s+(?P<used>\S+)\s+(?P<free>\S+)\s+(?P<full>\d+)% /dev/shm",
    ),
    state("shell.address", "inet ", r"\b(?P<interface>[\w.-]{1,15})\s+inet (?P<address>[\d.]{7,15})/\d+"),
    state("shell.world", "orld", r"(?i)\bworld[_ ]?size[=: ]+(?P<world>\d+)"),
    state("shell.world", "nproc", r"--nproc[_-]per[_-]node[= ](?P<local>\d+)"),
    state("shell.world", "num_processes", r"--num[_-]processes[= ](?P<world>\d+)"),
    state("shell.world", "mpirun", r"-np (?P<world>\d+)"),
    state("shell.world", "srun", r"^\s*(?:.*\$ )?srun\b.* -n ?(?P<world>\d+)"),
    state("shell.world", "--ntasks", r"--ntasks[= ](?P<world>\d+)"),
)
