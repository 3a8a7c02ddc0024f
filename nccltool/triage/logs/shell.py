"""What people paste around a log: commands, settings, limits, and the answers of tools."""

from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine, event, found, pattern

_RUNS = (
    r"(?:mpirun|mpiexec|srun|torchrun|python\S*|\./|bash|accelerate|deepspeed|docker|nerdctl|kubectl exec|"
    r"timeout|NCCL_|env |sudo|vllm|lmdeploy)"
)
PATTERNS = (
    pattern("shell.command", "state", "$ ", r"^(?:\[[^\]]*\] |\([^)]*\) |[\w@.:~/-]*)?\$ (?P<command>\S.*)"),
    pattern("shell.command", "state", "+ ", r"^\++ (?P<command>(?!nccltool)[a-zA-Z./].*)"),
    pattern("shell.command", "state", ">>> ", r"^>>> (?P<command>(?:run\b|[\w./-]+ ).*)"),
    pattern("shell.command", "state", "# ", rf"^# (?P<command>{_RUNS}.*)"),
    pattern("shell.command", "state", "===== ", r"^=+ (?P<command>.*\brun\b.*) =+$"),
    *(
        pattern("shell.env", "state", family, rf"\b(?P<name>(?:TORCH_)?{family}[A-Z0-9_]+)=(?P<value>[^\s'\"]+)")
        for family in ("NCCL_", "GLOO_", "MASTER_")
    ),
    pattern(
        "shell.memlock",
        "state",
        "max locked memory",
        r"(?P<name>max locked memory)\s+\(kbytes, -l\) (?P<limit>\S+)",
    ),
    pattern("shell.memlock", "state", "Max locked memory", r"(?P<name>Max locked memory)\s+(?P<limit>\S+)"),
    pattern("shell.files", "state", "open files", r"open files\s+\(-n\) (?P<limit>\S+)"),
    pattern(
        "shell.driver",
        "state",
        "Driver Version:",
        r"Driver Version: (?P<driver>[\d.]+)(?:\s+CUDA Version: (?P<cuda>[\d.]+))?",
    ),
    pattern("shell.port-down", "state", "tate:", r"^\s*(?:State: Down|Physical state: (?:Disabled|Polling))"),
    pattern("shell.port-active", "state", "tate:", r"^\s*(?:State: Active|state:\s+PORT_ACTIVE)"),
    pattern("shell.port-active", "state", "==> ", r"^\w+ port \d ==> \S+ \(Up\)"),
    pattern("shell.port-down", "state", "port_", r"state:\s+PORT_DOWN|PORT_DOWN"),
    pattern("shell.acs-on", "state", "ACSCtl", r"ACSCtl:.*ReqRedir\+"),
    pattern("shell.acs-off", "state", "ACSCtl", r"ACSCtl:.*ReqRedir-"),
    pattern("shell.iommu", "state", "iommu=on", r"(?:intel|amd)_iommu=on(?!.*iommu=pt)"),
    pattern("shell.missing", "state", "cannot access", r"cannot access '(?P<path>[^']+)': No such file"),
    pattern("shell.peermem", "state", "peermem ", r"nv(?:idia)?_peer_?mem\s+\d+"),
    pattern("shell.speed", "state", "Speed:", r"Speed: (?P<mbps>\d+)Mb/s"),
    pattern(
        "shell.shm",
        "state",
        "/dev/shm",
        r"^(?:tmpfs|shm)\s+(?P<size>\S+)\s+(?P<used>\S+)\s+(?P<free>\S+)\s+(?P<full>\d+)% /dev/shm",
    ),
    pattern(
        "shell.address",
        "state",
        "inet ",
        r"\b(?P<interface>[\w.-]{1,15})\s+inet (?P<address>[\d.]{7,15})/\d+",
    ),
    pattern("shell.world", "state", "orld", r"(?i)\bworld[_ ]?size[=: ]+(?P<world>\d+)"),
    pattern("shell.world", "state", "nproc", r"--nproc[_-]per[_-]node[= ](?P<local>\d+)"),
    pattern("shell.world", "state", "num_processes", r"--num[_-]processes[= ](?P<world>\d+)"),
    pattern("shell.world", "state", "mpirun", r"-np (?P<world>\d+)"),
    pattern("shell.world", "state", "srun", r"^\s*(?:.*\$ )?srun\b.* -n ?(?P<world>\d+)"),
    pattern("shell.world", "state", "--ntasks", r"--ntasks[= ](?P<world>\d+)"),
)


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What a pasted line says."""
    for item, fields in found(PATTERNS, line.text):
        yield event(item, line, fields)
