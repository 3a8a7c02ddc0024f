"""Lines that complain about something and that no other dialect knows: how loudly, and what they are about.

The words of a subject are those of the field (a NIC, a plugin, a limit), not those of one program: this is what is
left where a program words its failure as none has before.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from nccltool.triage.logs import error_texts
from nccltool.triage.logs.base import LogEvent, SourceLine
from nccltool.triage.logs.patterns import event, table

PATTERNS = table(r"""
doubt
    log.complaint    `rror|RROR|FATAL|atal|CRIT|anic|ailed|ailure|AILED|ailing|fails|annot |an't |an not ` => .
    log.complaint    `nable to|ould not|ouldn't|nvalid|ismatch|imed out|imeout|enied|efused|ejected` => .
    log.complaint    `nsupported|ot found|o such|ot available|issing|nreachable|ncompatible|orrupt` => .
    log.complaint    `nexpected|not supported| DOWN|is down|went down| hangs| hung|xceed|xhausted|bort` => .
    log.complaint    `not match|doesn't match|wrong|disagree|differ|nhealthy|inactive` => .
    log.complaint    `ut of memory|ut of host memory|ut of device memory|nsufficient|ot enough|o suitable` => .
    log.complaint    `xception in thread|oss is nan|oss is NaN`
    log.complaint    `xit code|xited with|xit status` => [1-9]
    log.complaint    `o usable|o active|o matching|o valid|out of range` => .
""")


def _one_of(text: str, flags: str = "(?i)") -> re.Pattern[str]:
    """The alternatives of the lines of a text."""
    return re.compile(f"{flags}{'|'.join(line.strip() for line in text.strip().splitlines())}")


_FAILS = _one_of(r"""
    \berr(?:ors?|no)?\b|\b\w+Error\b
    \b(?:fatal|critical|panic(?:ked)?|cannot|can't|can not)\b|(?:\b|_)fail(?:s|ed|ure|ures|ing)?\b|\bout of range\b
    \b(?:unable to|could(?: not|n't)|invalid|mismatch\w*|timed? ?out|denied|refused|rejected|unsupported|no such)\b
    \bnot (?:found|available|supported|match|allowed|permitted|loaded|running|exist|reachable|responding|ready)\b
    \b(?:missing|unreachable|incompatible|corrupt\w*|unexpected|down|hangs?|hung|exceed\w*|exhausted|abort\w*)\b
    \bout of (?:\w+ )?memory\b|\binsufficient\b|\bnot enough\b|\bno (?:suitable|usable|active|matching|valid)\b
    \bexit(?:ed)?(?: with)?(?: exit)? (?:code|status)[ =:]{1,3}[1-9]
    ^Exception in thread\b|\bloss is nan\b
    \b(?:doesn't match|wrong|disagree\w*|differs?|unhealthy|inactive|stuck)\b
""")
_LOUD = _one_of(
    r"""
    \b(?:ERROR|FATAL|CRITICAL|CRIT|EMERG|ALERT|ERR|PANIC)\b|(?i:\bfatal\b|\b(?:error|panic):|\berror[ ]?\()
    (?i:\baborting\b|\bcannot continue\b|\bgiving up\b)
    (?i:\b(?:job|run|training|program|process|application)\b.{0,12}\b(?:failed|aborted|crashed)$)
    ^Exception in thread\b|(?i:\bloss is nan, (?:stopp|abort|exit)ing\b)
    (?i:\bexit(?:ed)?(?: with)?(?: exit)? (?:code|status)[ =:]{1,3}[1-9]\d{0,2}$)
    (?i:\bfailed to (?:start|init\w*|create|open|load|connect|set up|bind|allocate)\b)
    """,
    flags="",
)
_SILENT = re.compile(r"\b(?:INFO|DEBUG|TRACE|NOTICE)\b|^\[?[ID]\d{4}|<info>|<trace>|<debug>|\[I\b")
_QUIET = re.compile(r"\bWARN(?:ING)?\b|\b[Ww]arning\b|^\[?W\d{4}|<warn>|\[W\b")
_ERROR_OF_NCCL = re.compile(r"\b(?:NCCL|RCCL) WARN\b")
_SURVIVED = _one_of(r"""
    \bfall(?:s|ing|en)?[ -]?back|using default|\b(?:ignor|disabl|skipp)(?:ed|ing)\b|\bretr(?:y|ies|ying|ied)\b
    harmless|optional|deprecat|(?<!cannot )(?<!can't )(?<!unable to )\bcontinu(?:e|es|ing)\b|recover(?:ed|s|ing)\b
    succe(?:ss|eded)|non-?fatal|no longer
    \buncorrectable 0\b
    will (?:use|try|be (?:used|ignored|set))|unaffected|resolved|cleared|is fine|as expected|safe to
    \bno (?:errors?|failures?|mismatch\w*|problems?|wrong)\b|\b0 (?:errors?|fail\w*|wrong|mismatch\w*|differ\w*)
    \b(?:errors?|fail(?:ed|ures?)?|wrong|mismatch\w*|timeouts?|err)\b\s*[=:]\s*(?:0|none|ok|pass|false|off|no)\b
    \bif\b.{0,40}\b(?:fail|error|time)|on[ _-](?:error|failure)
    error[ _-](?:rate|handl|bar|feedback|correct|report|count)
    error[ _-]code[ =:]+0\b|(?:max|grad|rel\w*|abs\w*|mean|rms|quanti\w+|val\w*|train\w*|test|word|char\w*)[ _]?err
    \b(?:timeout|time[ _-]out)\w*\b\W{1,3}\d|\bexpected\b.{0,20}\b(?:warning|behavio)|known (?:issue|warning)
    \bTL_\w+ +ERROR failed to initialize|wandb: (?:ERROR|WARNING)
    \b(?:can|could|may|might) (?:lead|cause|result)\b|<NO-CARRIER,
    \bsetting \W?\w+=|not supported on the given system
    informational|\bnot supported, using \w|\bwill keep trying\b|in file gds_|sys/fs/cgroup|unlink domain socket
    \((?:re)?(?:created|mounted|loaded|started|connected|joined)\)$
    \bno (?:violations?|faults?)\b|already been registered|\bset\b.{0,30}\bto (?:avoid|silence|suppress)
""")
"""Words of lines that tell at once that it went on, or that count nothing."""


_PARTS = {
    "DIFFER": "(?:mismatch|differ|disagree|unequal|not match)",
    "ALL": r"(?:\branks?|\bacross (?:devices|processes|workers))",
    "OF_CALLS": r"\b(?:shape|size|count|order|dtype|operation|collective|op|sequence|length)",
    "LIMIT": r"\b(?:too many|out of|no more|limit|exhaust\w*|maxim\w+|exceed\w*)",
    "DATA": "(?:result|element|tensor|value|data|buffer|gradient|weight|parameter)",
    "PROVIDER": "(?:PROVIDER|LOG|UNIVERSE|EFA|CXI|OPX|PSM[23]|TCP|VERBS|SOCKETS|OFI_RX[MD]|HMEM|MR)_?[A-Z_]*",
    "PORT": r"\b(?:link|port(?! (?:info|number|range|forward|bind))|carrier|cable|transceiver|phys\w* ?state)",
}
"""What several rows begin with."""


def _subjects(text: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Root cause -> the words that are about it, in the order of the rows; what is indented goes on."""
    rows: list[list[str]] = []
    for name, part in _PARTS.items():
        text = text.replace(f"{{{name}}}", part)
    for line in text.strip().splitlines():
        if line.startswith(" "):
            rows[-1].append(line.strip())
        else:
            label, words = line.split(maxsplit=1)
            rows.append([label, words])
    return tuple((label, re.compile(f"(?i){'|'.join(words)}")) for label, *words in rows)


_SUBJECTS = _subjects(
    r"""
imex-mnnvl           (?:\b|_)imex\b|mnnvl|fabric[ _]handle|compute-?domain|multi-?node nvlink
collnet-sharp        \bsharp\w*\b|coll_?net|aggregation manager
nvlink-fabric        nvlink(?!\s+(?:error|fatal|warning)\s*:)|nvswitch|fabric[ -]?manager|\bnvls\b|\bnvlsm\b
                     multicast (?:object|group|mem)
gdr-missing          gpu[ -]?direct|\bgdr\w*|peer_?mem\b|nv_peer|dma[-_ ]?buf
ib-memlock           memlock|locked[ -]memory|\bmlock\w*|\bulimit -l
shm-size             /dev/shm|\bshm(?:get|_open|at)?\b|shared[ -]memory (?:seg|file|pool|region|object)
                     emptydir.*memory
fd-limit             \bemfile\b|\bnofile\b|open files
                     {LIMIT}.{0,40}\bfile (?:descriptor|handle)s?|\bfile (?:descriptor|handle)s?\b.{0,40}{LIMIT}
duplicate-gpu        ^(?!.*\b(?:must|should|expect\w*|requires?)\b).*same (?:gpu|device|cuda device)
                     duplicate (?:gpu|device)\b(?! types?\b)
                     both (?:use|on|map\w*)\b.*(?:gpu|cuda|device)
collective-mismatch  {ALL}\b.*\b{OF_CALLS}s?\b.*{DIFFER}|{OF_CALLS}s?\b.*{ALL}\b.*{DIFFER}
                     {OF_CALLS}s?[ -]?{DIFFER}.*{ALL}|ranks? disagree
data-corruption      {DATA}s?\b.*\b(?:wrong|incorrect)
                     {DATA}s?\b.*\bcorrupt
                     (?:result|element|tensor|value|data|buffer|gradient)s?\b.*\b(?:do(?:es)?n't|not) match
                     unexpected result\b.*\bnot reproducible|possible (?:persistent|transient) error
                     verification (?:failed|error)|validation failed|checksum|\bsdc\b|silent data|bit ?flip
p2p-acs-iommu        \biommu\b|\bacs\b|peer[ -](?:to[ -]peer )?access|\bp2p\b|cudaipc|\bdmar\b|smmu
topology             topolog(?:y|ies)|\bnuma\b.*\b(?:node|affinity)|pci (?:path|tree|topology|hierarchy)|busid
plugin               \bplug-?in\b|libnccl-\w+|ofi-nccl|fastrak|(?-i:\bgIB\b)|fi_getinfo|no provider
gpu-fault            \bxid\b|\becc\b|\bdbe\b|illegal (?:memory|address|instruction)|amdgpu|\bgsp\b|retired page
                     \bNVRM\b
                     \bgpus?\b.*\b(?:lost|fault\w*|hang|hung|reset|remap\w*|unhealthy|missing|health|fell|fallen)\b
                     \binforom\b|\bexternal power\b
                     \bgpus?\b.*\b(?:not responding|count)\b|gpu.*\bexpected \d
ib-link              {PORT}\b.*\b(?:down|flap\w*|lost|bad|error)\b
                     {PORT}\b.*\b(?:fail\w*|disabled|polling|unplugged)
                     symbol errors?|retry (?:count|limit)|retries exceeded|PORT_DOWN
                     \b(?:down|lost|flapp\w+)\b.*\b(?:link|port|carrier|cable)
ib-config            \bgid\b|\bp_?key\b|\broce\w*|infiniband|\bibv?_\w+|\brdma\w*|\bhcas?\b|\bmlx[45]\w*|\bqp\b
                     \bcxi\b|slingshot|subnet (?:manager|prefix)|\bverbs\b|\bopensm\b|bnxt_re|\birdma\b
version-mismatch     \bversions?\b|incompatib|undefined symbol|\babi\b|(?:compiled|built) (?:with|for|against)
                     requires? (?:cuda|driver|nccl|rocm|glibc|torch)|too old|compute capability
out-of-memory        out[ -]of[ -](?:gpu |host |device )?memory|\boom\b
                     (?:\b|_)memory[ _](?:limit|pressure|exhaust\w*|alloc\w*)|\b(?:cuda|hip)(?:Host)?Malloc\w*\b
                     allocat\w+ .{0,30}memory|(?:insufficient|not enough) (?:\w+ )?memory
                     \bno (?:\w+ )?memory\b(?! (?:values|should|info))
env-invalid          environment variable|env(?:ironment)? var\b
                     (?-i:\b(?:LOCAL|CUDA(?!_ERROR)|WORLD|OMPI_MCA)_[A-Z_]+\b)
                     (?-i:\b(?:NCCL|RCCL|UCX|GLOO|TORCH_NCCL|NVSHMEM)_[A-Z_]+\b|\bFI_{PROVIDER})
net-interface        \binterfaces?\b|\bifname\b|loopback|\b127\.0\.\d|\bnic name|network device
rdzv-store           rendezvous|\brdzv|tcp_?store|\bmaster[ _]?(?:addr|port|node)|coordinat(?:or|ion)
                     resolv\w*\b.{0,40}\b(?:hosts?|address\w*|names?|nodes?|master|peer)\b|name resolution
                     \bdns\b
                     host ?names?\b|address (?:already )?in use|head node|\bgcs\b
                     \bport\b.*\b(?:in use|taken|bound|bind)|\bbind(?:ing)?\b.{0,20}\bport\b
net-unreachable      unreachable|no route|firewall|iptables|security group|\bmtu\b|packets?\b|\bping\b
                     (?:unable|failed|could ?n[o']t|can(?:not|'t)) (?:to )?(?:connect|reach)\b
                     connect(?:ion|ing)?\b.*\b(?:timed? ?out|refused|blocked)|cannot (?:reach|connect)
preempted            preempt\w*|(?<!to )\bcancell?(?:ed|ing|ation)\b
                     wall ?(?:time|clock)|time ?limit|evict\w*|reclaim\w*|\bdrain\w*
                     maintenance|spot instance
peer-exited          (?:peer|remote|other (?:end|side))\b.*\b(?:closed|exited|gone|died|reset|disconnect\w*)
                     connection (?:reset|closed|lost)
                     \blost connection (?:to|with)\b|\b(?:node|worker|peer)s? (?:has )?died
straggler-timeout    \b(?:rank|worker|task|node)s?\b.*\b(?:slow|stuck|late|behind|blocked|stall\w*|hung)\b
                     \b(?:rank|worker|task|node)s?\b.*\bnot (?:arriv|join|reach|respond)
                     (?:heartbeat|barrier|collective|all_?reduce|all_?gather)\b.*\btimed? ?out
app-error            panic|command not found|no such file|permission denied|syntax error|unrecognized (?:arg|opt)
                     \bcheckpoint|\bdataset|tokenizer|config(?:uration)? (?:file|error)|\.ya?ml\b|module|import
                     compil\w+|assert\w*
""".replace("{DIFFER}", "(?:mismatch|differ|disagree|unequal|not match)")
)


_OF_SYSTEMS = frozenset(
    {"rdzv-store", "net-interface", "net-unreachable", "ib-config", "ib-link", "ib-memlock", "gdr-missing"}
    | {"nvlink-fabric", "imex-mnnvl", "collnet-sharp", "shm-size", "fd-limit", "out-of-memory", "gpu-fault"}
    | {"collective-mismatch", "duplicate-gpu"}
)
"""What an exception can be about that is no defect of the program that raised it."""


_GUESS = re.compile(r"(?i)\b(?:likely|possibl[ey]|perhaps|maybe|might|may be|could be|e\.g\.|such as|please)\b")
"""Where an exception goes on with what it supposes, or advises."""


_OPTION = re.compile(r"(?<!\S)--[a-z][\w-]+")
"""A program's own option: the words of its name are no subject."""


_SERVICE = re.compile(r"\bhttps?://|\bHTTPS?ConnectionPool\b|\b(?:s3|gs|hf)://")
"""What an exception about a service on the web names; its words for a network are not about the cluster's."""
_OF_CODE = re.compile(
    r"(?:\w+\.)*(?:TypeError|AttributeError|NameError|KeyError|IndexError|NotImplementedError|SyntaxError)\b"
)
"""Exceptions that only code raises, whatever their words are about."""
_PATH = re.compile(r"(?<![\w.])/(?!dev/)(?:[\w.-]+/)+[\w.-]+")
"""A file: the words of its name are no subject."""
_COMPONENT = (
    r"(?:CUDA(?: driver)?|CUDART|NCCL|RCCL|ROCm|HIP|cuDNN|cuBLAS(?:Lt)?|NVSHMEM|driver|"
    r"(?:Py)?[Tt]orch|GLIBC|gcc|g\+\+)"
)
_NUMBER = r"(?: ?(?:version )?[><=]{0,2} ?\d+(?:\.\d+)+)"
_PACKAGE = (
    r"(?:torch\w*|transformers|tokenizers|accelerate|huggingface_hub|diffusers|datasets|peft|trl|deepspeed|megatron|"
    r"vllm|flash_attn|apex|triton|xformers|numpy|jax|jaxlib|flax|tensorflow|keras|ray|lightning|pytorch_lightning)"
)
"""A package that others are built for; what one imports from it depends on its version."""
_WRONG_VERSION = re.compile(
    rf"(?:requires?|[Rr]equirement:?|only \w+ with|needs)\b.{{0,20}}\b{_COMPONENT}{_NUMBER}"
    rf"|\b{_COMPONENT} [Vv]ersion must be\b"
    r"|(?i:current|installed|run-?time|compile-?time|loaded|detected) "
    rf"(?:installed )?{_COMPONENT} version\b"
    r".{0,40}\b(?:do(?:es)? not|is (?:greater|less|older|newer|too)|mismatch\w*|cannot|not (?:match|support\w*))"
    rf"|\b(?:greater|less|older|newer|lower|higher) than the (?:\w+ ){{1,3}}version by {_COMPONENT}\b"
    r"|_(?:VERSION|ARCH)_MISMATCH\b|(?i:\bnvml\w*\b.{0,40}\b(?:mismatch|not (?:loaded|found)))"
    r"|\bversion \S+ is (?:newer|older) than\b|\bbinary incompatibility\b|\boperator \w+::\w+ does not exist\b"
    r"|\b(?:requires?|require users to upgrade)\b .{0,20}?\w[\w.-]*(?:\[\w+\])?(?:[><~=]=?| to at least v)\d"
    r"|[><~=]=[\d.,<>=!]+ is required .*\bbut found\b"
    rf"|\bcannot import name '\w+' from '{_PACKAGE}\b(?!.*circular import)"
    rf"|\AAttributeError: module '{_PACKAGE}(?:\.\w+)*' has no attribute\b"
    r"|\bNumpy is not available\b|\bnumpy\._?core\.multiarray failed to import\b"
    r"|\bmodule (?:was )?compiled against (?:ABI|API|NumPy C-API) version\b"
    r"|\b(?:only supports \w+ GPUs or newer|supported on GPUs with compute capability)\b"
)
"""A component of the stack that is there in another version than the one that is needed."""


def of_exception(text: str) -> str:
    """The cause that an exception tells of, where it is not the program's own; "" where that is not known."""
    fact = _OPTION.sub(" ", _GUESS.split(text[:_LONGEST], maxsplit=1)[0])
    if _SERVICE.search(fact):
        return ""
    fact = _PATH.sub(" ", fact)
    if _WRONG_VERSION.search(fact):
        return "version-mismatch"
    if _OF_CODE.match(fact):
        return ""
    label = next((label for label, words in _SUBJECTS if words.search(fact)), "")
    return label if label in _OF_SYSTEMS else ""


def events(line: SourceLine) -> Iterator[LogEvent]:
    """A complaint: its subject, and whether it is told as the end of something."""
    if told := _told(line.text[:_LONGEST], line.is_error or line.text.lstrip().startswith(_UNCAUGHT)):
        subject, grade, exact = told
        parts = {"about": subject, "grade": grade, "exact": "yes" if exact else ""}
        yield event(
            next(iter(PATTERNS)), line, {name: part for name, part in parts.items() if part or name != "exact"}
        )


_UNCAUGHT = "what():"
"""What stands before the text of an exception that ends a program of C++."""


@lru_cache(maxsize=1024)
def _told(text: str, is_error: bool) -> tuple[str, str, bool] | None:
    """Subject, grade, and whether the error itself tells the subject; None = it is no complaint.

    A log that complains says the same again and again."""
    if not _FAILS.search(text) or _SURVIVED.search(text) or _SILENT.search(text):
        return None
    quiet = bool(_QUIET.search(text)) and not _ERROR_OF_NCCL.search(text)
    grade = "quiet" if quiet else "loud" if is_error or _LOUD.search(text) else "plain"
    exact = error_texts.meaning(text, is_error)
    told = _SOURCE.sub(" ", text)
    subject = exact or next((label for label, words in _SUBJECTS if words.search(told)), "")
    return (subject, grade, bool(exact)) if subject or grade == "loud" else None


_SOURCE = re.compile(r"(?:[\w.+-]*/)+[\w.+-]+\.(?:c|cc|cpp|cu|cuh|h|hpp|inl):\d+:?")
"""A place in the sources of a library: its folders are no subject."""


def depends_on_digits(text: str) -> bool:
    """Whether another line can complain that differs from this text in its digits: `0 errors` is no complaint."""
    text = text[:_LONGEST]
    return _FAILS.search(text) is not None and _SILENT.search(text) is None


_LONGEST = 500
"""Characters of a line that are searched: what it is about stands at its beginning."""
