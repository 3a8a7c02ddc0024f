"""Lines that complain about something and that no other dialect knows: how strongly, and what they are about.

The words of a subject are those of the field (a NIC, a plugin, a limit), not those of one program: this is what is
left where a program words its failure as nobody has before.
"""

import re
from collections.abc import Iterator

from nccltool.triage.logs.base import LogEvent, SourceLine
from nccltool.triage.logs.patterns import event, table

PATTERNS = table(r"""
doubt
    log.complaint    `rror|RROR|FATAL|atal|CRIT|anic|ailed|ailure|AILED|ailing|fails|annot |an't |an not |nable to` => .
    log.complaint    `ould not|ouldn't|nvalid|ismatch|imed out|imeout|enied|efused|ejected|nsupported` => .
    log.complaint    `ot found|o such|ot available|issing|nreachable|ncompatible|orrupt|nexpected|not supported` => .
    log.complaint    ` DOWN|is down|went down| hangs| hung|xceed|xhausted|bort|not match|doesn't match` => .
    log.complaint    `wrong|disagree|differ|nhealthy|inactive` => .
""")
_FAILS = re.compile(
    r"(?i)\b(?:errors?|err(?:no)?|fatal|critical|panic(?:ked)?|fail(?:s|ed|ure|ures|ing)?|cannot|can't|can not|unable to|"
    r"could(?: not|n't)|invalid|mismatch\w*|timed? ?out|denied|refused|rejected|unsupported|not (?:found|available|"
    r"supported|match|allowed|permitted|loaded|running|exist|reachable|responding|ready)|no such|missing|unreachable|incompatible|"
    r"corrupt\w*|unexpected|down|hangs?|hung|exceed\w*|exhausted|abort\w*|doesn't match|wrong|disagree\w*|differs?|"
    r"unhealthy|inactive|stuck)\b|Error\b"
)
_LOUD = re.compile(
    r"\b(?:ERROR|FATAL|CRITICAL|CRIT|EMERG|ALERT|ERR|PANIC)\b|(?i:\bfatal\b|\b(?:error|panic):|\berror[ ]?\(|\baborting\b|"
    r"\bcannot continue\b|\bgiving up\b|\bfailed to (?:start|init\w*|create|open|load|connect|set up|bind|allocate)\b)"
)
_SILENT = re.compile(r"\b(?:INFO|DEBUG|TRACE|NOTICE)\b|^\[?[ID]\d{4}|<info>|<trace>|<debug>|\[I\b")
_QUIET = re.compile(r"\bWARN(?:ING)?\b|\b[Ww]arning\b|^\[?W\d{4}|<warn>|\[W\b")
_ERROR_OF_NCCL = re.compile(r"\b(?:NCCL|RCCL) WARN\b")
_SURVIVED = re.compile(
    r"(?i)\bfall(?:s|ing|en)?[ -]?back|using default|\bignor(?:ed|ing)\b|\bdisabl(?:ed|ing)\b|\bskipp(?:ed|ing)\b|"
    r"\bretr(?:y|ies|ying|ied)\b|harmless|optional|deprecat|\bcontinu(?:e|es|ing)\b|recover(?:ed|s|ing)\b|succe(?:ss|eded)|"
    r"non-?fatal|will (?:use|try|be (?:used|ignored|set))|\bno (?:errors?|failures?|mismatch\w*|problems?|wrong)\b|\b0 "
    r"(?:errors?|failures?|failed|wrong|mismatch\w*|differ\w*)|(?:errors?|fail(?:ed|ures)?|wrong|mismatch\w*|timeouts?|err)\b\s*[=:]\s*(?:0|none|ok|pass|false|"
    r"off|no)\b|\bif\b.{0,40}\b(?:fail|error|time)|on[ _-](?:error|failure)|error[ _-](?:rate|handl|bar|feedback|correct|"
    r"code[ =:]+0\b|reporting|count)|(?:max|grad|rel\w*|abs\w*|mean|rms|quanti\w+|val\w*|train\w*|test|word|char\w*)[ _]?err"
    r"|\b(?:timeout|time[ _-]out)\w*\b\W{1,3}\d|\bexpected\b.{0,20}\b(?:warning|behavio)|safe to|known (?:issue|warning)|"
    r"\bset\b.{0,30}\bto (?:avoid|silence|suppress)|no longer|unaffected|resolved|cleared|is fine|as expected"
)
"""Words of lines that tell at once that it went on, or that count nothing."""

_SUBJECTS = tuple(
    (label, re.compile(f"(?i){text}"))
    for label, text in (
        ("imex-mnnvl", r"\bimex\b|mnnvl|fabric[ _]handle|compute-?domain|multi-?node nvlink"),
        ("collnet-sharp", r"\bsharp\w*\b|coll_?net|aggregation manager"),
        ("nvlink-fabric", r"nvlink|nvswitch|fabric[ -]?manager|\bnvls\b|multicast (?:object|group|mem)|\bnvlsm\b"),
        ("gdr-missing", r"gpu[ -]?direct|\bgdr\w*|peer_?mem\b|nv_peer|dma[-_ ]?buf"),
        ("ib-memlock", r"memlock|locked[ -]memory|\bmlock\w*|\bulimit -l"),
        ("shm-size", r"/dev/shm|\bshm(?:get|_open|at)?\b|shared[ -]memory (?:seg|file|pool|region|object)|emptydir.*memory"),
        ("fd-limit", r"\bemfile\b|\bnofile\b|open files|file descriptors?|file handles"),
        ("duplicate-gpu", r"same (?:gpu|device|cuda device)|duplicate (?:gpu|device)|both (?:use|on|map\w*)\b.*(?:gpu|cuda|device)"),
        ("collective-mismatch", r"\branks?\b.*\b(?:shape|size|count|order|dtype|operation|collective|op|sequence|length)s?\b"
         r".*(?:mismatch|differ|disagree|unequal|not match)|(?:shape|size|count|order|dtype|collective|sequence)s?[ -]?"
         r"(?:mismatch|differ|disagree).*\brank|ranks? disagree"),
        ("data-corruption", r"(?:result|element|tensor|value|data|buffer|gradient|weight|parameter)s?\b.*\b(?:wrong|incorrect|corrupt\w*|"
         r"(?:do(?:es)?n't|not) match)|verification (?:failed|error)|validation failed|checksum|\bsdc\b|silent data|bit ?flip"),
        ("p2p-acs-iommu", r"\biommu\b|\bacs\b|peer[ -](?:to[ -]peer )?access|\bp2p\b|cudaipc|\bdmar\b|smmu"),
        ("topology", r"topolog(?:y|ies)|\bnuma\b.*\b(?:node|affinity)|pci (?:path|tree|topology|hierarchy)|busid"),
        ("plugin", r"\bplug-?in\b|libnccl-\w+|ofi-nccl|fastrak|\bgib\b|fi_getinfo|no provider"),
        ("gpu-fault", r"\bxid\b|\becc\b|\bdbe\b|\bgpus?\b.*\b(?:lost|fault\w*|hang|hung|reset|remap\w*|unhealthy|missing|"
         r"health|fell|fallen|not responding|count)\b|illegal (?:memory|address|instruction)|amdgpu|\bgsp\b|retired page|gpu.*\bexpected \d"),
        ("ib-link", r"(?:link|port|carrier|cable|transceiver|phys_?state|phys\w* state)\b.*\b(?:down|flap\w*|lost|bad|error|fail\w*|disabled|"
         r"polling|unplugged)|symbol errors?|retry (?:count|limit)|retries exceeded|PORT_DOWN|"
         r"\b(?:down|lost|flapp\w+)\b.*\b(?:link|port|carrier|cable)"),
        ("ib-config", r"\bgid\b|\bp_?key\b|\broce\w*|infiniband|\bibv?_\w+|\brdma\w*|\bhcas?\b|subnet (?:manager|prefix)|"
         r"\bverbs\b|\bmlx[45]\w*|\bqp\b|\bopensm\b|bnxt_re|\birdma\b"),
        ("version-mismatch", r"\bversions?\b|incompatib|undefined symbol|\babi\b|(?:compiled|built) (?:with|for|against)|"
         r"requires? (?:cuda|driver|nccl|rocm|glibc|torch)|too old|compute capability"),
        ("out-of-memory", r"out[ -]of[ -](?:gpu |host |device )?memory|\boom\b|memory (?:limit|pressure|exhaust\w*|alloc\w*)|allocat\w+ .{0,30}memory|"
         r"(?:insufficient|not enough|no) (?:\w+ )?memory"),
        ("env-invalid", r"environment variable|env(?:ironment)? var|\b(?:NCCL|RCCL|UCX|FI|GLOO|TORCH_NCCL|NVSHMEM|OMPI_MCA|LOCAL|CUDA|WORLD)_[A-Z_]+\b"),
        ("net-interface", r"\binterfaces?\b|\bifname\b|loopback|\b127\.0\.\d|\bnic name|network device"),
        ("rdzv-store", r"rendezvous|\brdzv|tcp_?store|\bmaster[ _]?(?:addr|port|node)|coordinat(?:or|ion)|resolv\w+|\bdns\b|"
         r"host ?names?\b|address (?:already )?in use|\bport\b.*\b(?:in use|taken|bound|bind)|head node|\bgcs\b"),
        ("net-unreachable", r"unreachable|no route|firewall|iptables|security group|\bmtu\b|packets?\b|connect(?:ion|ing)?\b.*"
         r"\b(?:timed? ?out|refused|blocked)|cannot (?:reach|connect)|ping"),
        ("preempted", r"preempt\w*|cancel\w*|wall ?(?:time|clock)|time ?limit|evict\w*|reclaim\w*|\bdrain\w*|maintenance|spot instance"),
        ("peer-exited", r"(?:peer|remote|other (?:end|side))\b.*\b(?:closed|exited|gone|died|reset|disconnect\w*)|connection (?:reset|closed|lost)"),
        ("straggler-timeout", r"\b(?:rank|worker|task|node)s?\b.*\b(?:slow|stuck|late|behind|blocked|stall\w*|not (?:arriv|join|reach|respond)\w*|hung)\b"
         r"|(?:heartbeat|barrier|collective|all_?reduce|all_?gather)\b.*\btimed? ?out"),
        ("app-error", r"panic|command not found|no such file|permission denied|syntax error|unrecognized (?:arg|opt)|"
         r"\bcheckpoint|\bdataset|tokenizer|config(?:uration)? (?:file|error)|\.ya?ml\b|module|import|compil\w+|assert\w*"),
    )
)  # fmt: skip


def events(line: SourceLine) -> Iterator[LogEvent]:
    """A complaint: its subject, and whether it is told as the end of something."""
    text = line.text[:_LONGEST]
    if not _FAILS.search(text) or _SURVIVED.search(text) or _SILENT.search(text):
        return
    quiet = bool(_QUIET.search(text)) and not _ERROR_OF_NCCL.search(text)
    grade = "quiet" if quiet else "loud" if _LOUD.search(text) else "plain"
    subject = next((label for label, words in _SUBJECTS if words.search(text)), "")
    if subject or grade == "loud":
        yield event(next(iter(PATTERNS)), line, {"about": subject, "grade": grade})


_LONGEST = 500
"""Characters of a line that are searched: what it is about stands at its beginning."""
