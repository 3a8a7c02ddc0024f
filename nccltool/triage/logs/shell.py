"""What people paste into a log: commands, settings, limits, and the output of tools."""

import re
from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine
from nccltool.triage.logs.patterns import LogPattern, event, table

PATTERNS = table(r"""
state
    shell.command      ^(?:(?:\[[^\]]*\]|\([^)]*\)) ?)*[\w@.:~/-]* ?`$ `(?P<command>\S.*)
    shell.command      `# ` => ^(?:\([^)]*\) )?\[?[\w.-]+@[\w.-]+[: ][^#$]{0,80}# (?P<command>\S.*)
    shell.command      `# ` => ^[a-z][\w.-]*:[~/][^#$\s]*# (?P<command>\S.*)
    shell.command      `+ ` => ^\++ (?P<command>(?!nccltool)[a-zA-Z./].*)
    shell.command      ^`>>> `(?P<command>(?:run\b|[\w./-]+ ).*)
    shell.command      ^`# `(?P<command>(?:mpirun|mpiexec|srun|torchrun|python\S*|\./|bash|accelerate|deepspeed|
                       docker|nerdctl|kubectl exec|timeout|NCCL_|env |sudo|vllm|lmdeploy).*)
    shell.command      `===== ` => ^=+ (?P<command>.*\brun\b.*) =+$
    shell.command      ` vllm serve| torchrun | mpirun | srun | python| accelerate | deepspeed | bash ` => ^
                       (?P<command>(?:[A-Z][A-Z0-9_]{3,}=\S+ )+(?:vllm|torchrun|mpirun|srun|python|accelerate|
                       deepspeed|bash).*)
    shell.rank-call    ^(?:rank \d+: )?(?P<op>\w+):? `numel=`(?P<count>\d+)
    shell.note         `# ` => ^(?:\[[^\]]*\]<std\w+>:)?#{1,3} (?P<note>(?!nThread|Using dev|Collective|nccl-tests|
                       Out of|Avg bus|Rank |size |OSU|Size|\s)\w.{3,200})$
    shell.note         `--- ` => ^-{3,} (?P<note>\w.{3,120}?)(?: -{3,})?$
    shell.note         `== ` => ^={2,} (?P<note>\w.{3,120}?)(?: ={2,})?$
    job.nothing-more   `nothing more|no further` => (?i)^[#$( ]*.*\b(?:nothing more|no further (?:line|output))
    shell.tool         `$ ` => \$ (?:.*[| ;])?(?P<tool>gdb|py-spy|pstack|strace|ethtool|perfquery|ibqueryerrors|
                       ib_\w+_bw|ib_\w+_lat|p2pBandwidthLatencyTest|lspci|dmesg|nstat|tcpdump|kubectl describe|
                       ibstat|show_gids|rdma|dcgmi|mlxlink|iperf3?|numactl|journalctl)\b
    shell.local-rank   rank (?P<rank>\d+)\b.*\b`LOCAL_RANK=`(?P<local>\d+).*CUDA_VISIBLE_DEVICES=(?P<seen>[\d,]+)
    shell.env          \b(?P<name>(?:TORCH_)?`NCCL_|GLOO_|MASTER_|UCX_|HSA_ENABLE_`[A-Z0-9_]+)=(?P<value>[^\s'"]+)
    env.misspelled     ^(?:.*\s)?(?P<name>`CCL_|NCLL_|NCL_|NNCL_|NCCLL_|NCCCL_`(?:NET|IB|SOCKET|P2P|SHM|
                       DEBUG|NVLS|PROTO|CROSS|TOPO|COLLNET|CUMEM|MNNVL|MIN|MAX)[A-Z0-9_]*)=
    shell.memlock      (?P<name>`max locked memory`)\s+\(kbytes, -l\) (?P<limit>\S+)
    shell.memlock      (?P<name>`Max locked memory`)\s+(?P<limit>\S+)
    shell.files        `open files`\s+\(-n\) (?P<limit>\S+)
    shell.driver       `Driver Version:` (?P<driver>[\d.]+)(?:\s+CUDA Version: (?P<cuda>[\d.]+))?
    shell.driver       `Kernel Module` => Kernel Module\s+(?:for \S+\s+)?(?P<driver>\d{3}\.\d[\d.]*\d)
    shell.driver       `has the version` => has the version (?P<driver>\d{3}\.\d[\d.]*\d)
    shell.libcuda      `libcuda.so.` => (?P<library>libcuda\.so\.\d{3}\.\d[\d.]*\d)
    shell.loads        `LD_LIBRARY_PATH=` => [=:](?P<library>/[^:\s'"]*\bnccl\b[^:\s'"]*)
    shell.package      `nvidia-` => \b(?:Setting up|Unpacking|Upgrade:|Install:|Upgraded:?) .*?(?P<library>(?:lib)?
                       nvidia-(?!nccl)[a-z]+-\d{3})\b
    shell.package      `nvidia-nccl-cu` => (?P<library>nvidia-nccl-cu\d+)\b.*(?:requires|incompatible|but you have)
    shell.hca          ^CA` '`(?P<hca>[\w.-]+)'
    shell.hca          ^`hca_id:`\s+(?P<hca>[\w.-]+)
    shell.hca          ^`Settings for `(?P<hca>[\w.-]+):$
    shell.port-down    ^(?P<hca>\w+) port \d `==> `\S+ \(Down\)
    shell.port-down    ^\s*`Link detected: no`$
    shell.port-down    ^\s*state:\s+`PORT_DOWN`
    shell.unit         `systemctl status |.service - ` => (?:systemctl status |^(?:x |\W{0,4})(?!.*systemctl))
                       (?P<unit>[\w@.-]+?)(?:\.service)?(?:\s|$)
    shell.unit-down    ^\s*`Active: failed|Active: inactive`
    shell.port-down    `tate:` => ^\s*(?:State: Down|Physical state: (?:Disabled|Polling))
    shell.port-active  `tate:` => ^\s*(?:State: Active|state:\s+PORT_ACTIVE)
    shell.port-active  ^\w+ port \d `==> `\S+ \(Up\)
    shell.port-down    `: DOWN` => \b(?P<hca>(?:mlx[45]|bnxt_re|irdma|rocep)\w*) 1: DOWN
    shell.port-active  `: ACTIVE` => \b(?:mlx[45]|bnxt_re|irdma|rocep)\w* 4: ACTIVE
    shell.port-down    `port_` => state:\s+PORT_DOWN|PORT_DOWN
    shell.port-down    `PORT_DOWN`
    shell.acs-on       `ACSCtl`.*ReqRedir\+
    shell.bridge       `PCI bridge` => ^(?P<device>(?:[\da-f]{4}:)?[\da-f]{2}:[\da-f]{2}\.\d) PCI bridge
    shell.acs-off      `ACSCtl`.*ReqRedir-
    shell.iommu        (?:intel|amd)_`iommu=on`(?!.*iommu=pt)
    shell.iommu-on     `AMD-Vi|DMAR: IOMMU enabled` => AMD-Vi: (?:Found IOMMU|Interrupt remapping enabled)|
                       IOMMU enabled
    shell.iommu-on     ` 001d| 001f` => ^[\da-f]{2}:[\da-f]{2}\.\d 00[01][1-9a-f]$
    shell.iommu        `iommu.strict=1|iommu=force`
    shell.loads        `libnccl.so` => libnccl\.so\S* => (?P<library>/\S+)
    shell.loads        `Shared library: [lib` => \[(?P<library>lib[nr]ccl\.so[^\]]*)\]
    shell.missing      `cannot access` '(?P<path>[^']+)': No such file
    job.on-node        ^`Node:`\s+(?P<node>[a-z][\w.-]*\w)/?
    job.on-node        ^`Exec host:`\s+(?P<node>[a-z][\w.-]*\w)/\d
    shell.peermem      `peermem |peer_mem ` => (?:nv(?:idia)?_peer_?mem|amdgpu_peermem)\s+\d+
    shell.sanitizer    `========= Invalid __` => Invalid __\w+__ (?:read|write|atomic)\w* of size
    shell.speed        `Speed:` (?P<mbps>\d+)Mb/s
    shell.shm          ^(?:tmpfs|shm)\s+(?P<size>\S+)\s+(?P<used>\S+)\s+(?P<free>\S+)\s+(?P<full>\d+)% `/dev/shm`
    shell.address      \b(?P<interface>[\w.-]{1,15})\s+`inet `(?P<address>[\d.]{7,15})/\d+
    shell.world        (?i)(?:(?<![\w_])rank[=: ]+(?P<own>\d+)\b.*)?\bw`orld`[_ ]?size[=: ]+(?P<world>\d+)
    shell.world        --`nproc`[_-]per[_-]node[= ](?P<local>\d+)
    shell.world        `num_processes` => --num[_-]processes[= ](?P<world>\d+)
    shell.world        `mpirun` => -np (?P<world>\d+)
    shell.world        ^\s*(?:.*\$ )?`srun`\b.* -n ?(?P<world>\d+)
    shell.world        `--ntasks`[= ](?P<world>\d+)
    shell.gpu-process  `, 0` => ^(?P<pid>\d+), (?P<bus>[\da-fA-F]{8}:[\da-fA-F]{2}:[\da-fA-F]{2}\.\d), [\w.]
    shell.gpu-process  ` MiB` => ^(?P<bus>[\da-fA-F]{8}:[\da-fA-F]{2}:[\da-fA-F]{2}\.\d), (?P<pid>\d+), \d
    shell.listens      `LISTEN` => ^(?:tcp\w* .*?|LISTEN .*?)[\d.*\]]:(?P<port>\d{2,5})\s.*?(?:pid=(?P<owner>\d+)|
                       \s(?P<process>\d+)/|$)
    shell.listens      `(LISTEN)` => ^(?P<program>\S+)\s+(?P<owner>\d+)\s.*:(?P<port>\d{2,5}) \(LISTEN\)
    shell.gpu-process  `MiB ` => ^\|\s+(?P<gpu>\d+)\s+(?:N/A\s+N/A\s+)?(?P<pid>\d+)\s+C(?:\+G)?\s
""")

_SETTING = re.compile(
    r"\b(?P<name>(?:TORCH_)?(?:NCCL_|GLOO_|MASTER_|UCX_|HSA_ENABLE_)[A-Z0-9_]+)=(?P<value>[^\s'\"]+)"
)

_PROMPT = re.compile(
    r"^(?:\([^)]*\) ?)?(?:\[?[\w.-]+@(?P<host>[\w.-]+)[: ][^$#]*|"
    r"(?P<plain>[a-z][\w.-]*[-\d][\w.-]*)(?::[~/][^$#\s]*)? ?)[$#] "
)
"""The host in the prompt of a shell."""


def events(line: SourceLine) -> Iterator[LogEvent]:
    """What a line says; a command can set many variables."""
    for item, fields in PATTERNS.found(line.text):
        if item.kind == "shell.command" and (host := _PROMPT.match(line.text)):
            fields["node"] = host["host"] or host["plain"]
        if item.kind != "shell.env":
            yield event(item, line, fields)
            continue
        named = set()
        for match in _SETTING.finditer(line.text):
            if match["name"] not in named:
                named.add(match["name"])
                yield event(item, line, match.groupdict())


_ASKS = re.compile(r"\bulimit (?:-[HS] )?-[HS]?(?P<limit>[ln])['\")\s]*$")
_LIMITS = {"l": "shell.memlock", "n": "shell.files"}
"""Option of ulimit -> the kind of event of what it prints."""


class Answers:
    """The line behind a command that asks for one limit: a number that alone says nothing."""

    def __init__(self) -> None:
        self.number, self._limit = 0, ""
        """`number`: of the line that is an answer."""

    def asked(self, number: int, text: str) -> None:
        """A command, in the line of this number."""
        if match := _ASKS.search(text):
            self.number, self._limit = number + 1, match["limit"]

    def events(self, line: SourceLine) -> Iterator[LogEvent]:
        """The limit, where the line is a number."""
        if line.text.strip().isdecimal():
            fields = {"name": f"ulimit -{self._limit}", "limit": line.text.strip()}
            yield event(LogPattern(_LIMITS[self._limit], "state"), line, fields)
