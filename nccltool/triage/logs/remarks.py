"""What people and programs remark about a job that stands still or is at other work, and stacks of it."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from nccltool.triage.logs.base import OF_A_PART, LogEvent, SourceLine
from nccltool.triage.logs.patterns import event, table

_REMARK = r"^\W{0,4}[(<#.*^].{0,80}"
"""How a line begins that a person put between those of programs."""
_WORK = (
    r"(?:[Ll]oad|[Dd]ownload|[Uu]pload|[Tt]okeniz|[Pp]reprocess|[Ss]av|[Ww]rit|[Cc]onvert|[Mm]erg|[Gg]roup|[Pp]ack|"
    r"[Ee]xtract|[Rr]ead|[Ff]etch|[Cc]op(?:y|i)|[Aa]llocat|[Ee]valuat|[Vv]alidat|[Cc]ompil|[Bb]uild|[Gg]enerat|[Ff]ilter|[Cc]ach|[Ii]ndex|[Ss]huffl|"
    r"[Ee]xport|[Uu]npack|[Gg]ather)\w*"
)

PATTERNS = table(
    r"""
failure
    job.stalled         `still running after|has waited|still waiting after|been waiting for` \d+(?:\.\d+)? ?
                        (?:s\b|sec|min|ms\b)
    job.stalled         `did not respond|no response from`.*\b(?:for|in|within|last) \d+ ?(?:s\b|sec|min)
    job.stalled         `waiting for|Waiting for` => [Ww]aiting for [\w -]{1,40}\W{1,6}(?P<seconds>\d{3,}) ?s\b
    job.preempted       `pot ` => (?i)\bspot\b.{0,30}\b(?:interrupt|terminat|reclaim|evict|taken)
    job.preempted       `PREEMPTION` => (?i)(?:reason|drain)\w*\b.{0,40}PREEMPTION
    job.preempted       `PreemptionError|re-empted|reempted|re-emption` => (?i)^(?!.*\bif\b).*(?:PreemptionError|
                        \b(?:nodes?|job|instances?|vms?|run)\b.{0,30}\bpre-?empted|
                        pre-emption (?:warning|notice|signal))
    job.preempted       `erminated expectedly: preempted`
    torch.stuck         `Terminating the process after attempting`
state
    job.nothing-more    `no more output|no output|No output|No more output|no more lines|no further` => {REMARK}
    job.nothing-more    `silent for ` => {REMARK}
    job.nothing-more    `othing happens|othing follows|othing for|othing after` => {REMARK}
    job.nothing-more    `(nothing|(hangs|(hang |(hung|(stuck|(frozen|(stalls|(stops|<hangs|<hang>` => ^\W{0,4}[(<]
    job.nothing-more    `inutes later|in later|ours later|till waiting|till running|till hanging` => {REMARK}
    job.nothing-more    `stays like this|hangs here|hangs forever|stuck here|never returns|sits here` => {REMARK}
    job.nothing-more    `... hangs|... (hangs|<- hangs|<-- hangs|<-- stuck|<-- hang|<- stuck`
    job.kills           `killing process tree|killing all processes|Killing all|terminating all workers`
    job.container-exit  `exitCode: ` => exitCode: (?P<code>\d+)
    job.container-exit  `exit code |exited with code ` => (?:terminated|container|pod|docker|worker|replica)\b.*
                        exit(?:ed with)? code (?P<code>\d+)
    host.memory-use     `emory` => (?i)\bmemory\b[^/]{0,20}\b(?P<used>\d+(?:\.\d+)?) ?[GMK]?i?B? ?(?:/|of)
                        (?: limit)? (?P<limit>\d+(?:\.\d+)?) ?[GMK]?i?B?
    shell.visible       `CUDA_VISIBLE_DEVICES=` => (?:LOCAL_RANK=(?P<own>\d+).*)?CUDA_VISIBLE_DEVICES=
                        (?P<seen>[\d,]+)
    store.joined        `Rendezvous complete for workers`
    plugin.absent       `ould not find: libnccl-net.so|o plugin found (libnccl-net.so)` => (?P<name>
                        libnccl-net\.so)
    plugin.wanted       `FI_PROVIDER=|FI_EFA_|aws-ofi-nccl|librccl-net.so` => ^(?!.*NCCL INFO)
    plugin.loaded       `Loaded net plugin|NET/OFI|NET/FasTrak`
    job.split           `fwd|forward|bwd|backward|compute` => (?i){COMM}\w*["']?[ :=]+(?P<comm>\d+\.?\d*)
                        [ ]?m?s?\b.{1,40}?(?:fwd|forward|bwd|backward|compute)\w*["']?[ :=]+(?P<compute>\d+\.?\d*)
    bench.below         `Gb/s` => (?P<rate>\d+(?:\.\d+)?) ?(?P<unit>Gb/s)\W{1,3}(?:wanted|expected|required)
                        (?: at least| about)? (?P<wanted>\d+(?:\.\d+)?) ?Gb/s
    bench.below         `GB/s` => (?P<rate>\d+(?:\.\d+)?) ?GB/s, (?:wanted|expected|required|need) (?:at least )?
                        (?P<wanted>\d+(?:\.\d+)?) ?GB/s
    bench.below         `but measured` => expected >=? (?P<wanted>\d+(?:\.\d+)?) ?(?P<unit>GB/s),? but measured
                        [ ](?P<rate>\d+(?:\.\d+)?)
    bench.below         `easured ` => measured (?P<rate>\d+(?:\.\d+)?) ?(?P<unit>G[Bb]/s)\b.{0,30}\b(?:limit|
                        expected|required|wanted|at least) (?P<wanted>\d+(?:\.\d+)?) ?G[Bb]/s
    bench.wanted        `GB/s` => ^\W*(?:expected|wanted|should be) (?:about |at least |some )?
                        (?P<wanted>\d+(?:\.\d+)?) ?GB/s
    job.wanted          `xpected: |xpected |arget: |aseline: ` => (?i)^\W{0,3}(?:expected|target|baseline)\b
                        [^\d%]{0,40}?(?P<wanted>\d+(?:\.\d+)?) ?(?P<unit>GB/s|s/(?:step|it)\b|s per step)
    job.wanted          `TTFT|TPOT|ITL` => (?i)^\W{0,3}(?:expected|target|baseline|goal|SLO)\b.{0,30}\b
                        (?P<name>TTFT|TPOT|ITL)\b[^\d]{0,20}(?P<wanted>\d+(?:\.\d+)?) ?(?P<unit>ms)\b
    bench.serving       `(ms):` => ^(?:Mean|Median) (?P<name>TTFT|TPOT|ITL) \(ms\):\s+(?P<ms>\d+\.\d+)
    bench.below         `GB/s` => (?P<rate>\d+(?:\.\d+)?) ?GB/s (?:<|is (?:less|lower) than|is below|below|
                        vs\.? expected) (?:expected |threshold |the )?(?P<wanted>\d+(?:\.\d+)?) ?GB/s
    job.said-ok         ` ok|ok ` => ^(?:[^\s|]+ ){0,4}ok\b[\s\d./]*$|\b(?P<all>\d+)/(?P=all) .{0,20}\bok\b
    job.said-ok         `passed` => ^(?:NCCL|RCCL) \d[\d.]+: passed$
    job.said-ok         `100%` => (?i)(?:request|prompt|generat|infer|eval|test|step|epoch|train)[^|]{0,40}100%
                        \|[^|]*\| *(?P<all>\d+)/(?P=all)\b
    job.rank-skips      `kipped|kipping|o tokens|o ops |mpty batch|mpty shard|dle batch|arly return|
                        ing early` => (?i)^(?!.*(?:overflow|skipped=|skipping step)).*\b(?:skip(?:ped|ping)|
                        no (?:tokens|ops)\b|empty (?:batch|shard)|idle batch|early return|returning early)
    job.progress        `iters/s` => (?P<of>iters)/s\W{1,3}(?P<rate>\d+(?:\.\d+)?)
    shell.note          ^\[`note`s?\] (?P<note>.{3,200})$
    job.at-work         `%` => ^(?P<what>.{0,80}?)\b(?P<done>\d{1,3})%\|.*\[.*\d ?(?:examples|
                        [kKMGT]?i?B|files?|docs?|rows|shards?|samples)/s
    job.at-work         `%` => (?P<what>\b{WORK}\b[^%|\[]{0,90}?)\b(?P<done>\d{1,3}) ?%(?:\||\s|$)
    job.at-work         `iB|GB|MB|TB` => (?P<what>\b{WORK}\b[^%|\[]{0,60}?)\b(?P<done>\d+(?:\.\d+)?) ?
                        (?:[kKMGT]i?B )?(?:of|/) ?(?P<of>\d+(?:\.\d+)?) ?[kKMGT]i?B\b
    job.at-work         `aving |aved |riting |eading |etching |ploading |ownloading |valuating |okenizing |
                        rocessing |ompiling |athering ` => ^
                        (?![^a-zA-Z]*(?:step|iter)).{0,100}?\b(?P<what>{WORK} .{0,60})
    job.stack           `py-spy: `(?P<function>[\w.<>]+) \((?P<path>[^)]+)\)
    job.stack-of        ^\W*`Thread `(?:0x)?[0-9a-fx]+ \((?:idle|active|most recent call first|LWP|Thread)
    job.stack-of        ^\W*`Process ` ?\d+:\s
    job.stack           `.py:` => ^\s+(?P<function>[\w.<>]+) \((?P<path>[^)\s]+\.py):\d+\)
    job.stack           `#0  |#1  |#2  |#3  |#4  |#5  |#6  |#7  ` => ^\W*#\d+ +(?:0x[0-9a-f]+ in )?
                        (?P<function>[\w:~<>]+) ?\(
    job.at-work         `hard |art |hunk |ile ` => (?i)\b(?P<what>(?:shard|part|chunk|file)) (?P<done>\d+) ?(?:/|
                     of) ?
                        (?P<of>\d+)\b.*\b(?:written|saved|loaded|read|done|copied|uploaded)
    job.at-work         `layer |block |tensor |module |shard ` => (?i)\b(?P<what>[\w.]+:? (?:layer|block|
                        tensor|module|shard)) (?P<done>\d+)/(?P<of>\d+)$
    job.at-work         `eading |oading |riting |opying ` => (?i)\b(?:read|load|writ|copy)ing
                        [ ](?P<what>shard|part|chunk|file) (?P<done>\d+) ?(?:/|of) ?(?P<of>\d+)\b
    shell.rank-gpu      `cuda:` => (?i)(?:\b|_)rank (?P<of>\d+)\b.*\b(?:uses?|on|device)\b.*cuda:(?P<index>\d+)(?:
                        \W{1,3}(?P<gpu>[\da-f]{4}:[\da-f]{2}:[\da-f.]+))?
success
    job.judged-good   `PASS` => ^(?:--- )?PASS(?:: [\w./-]+ \([\d.]+ ?s\))?$|\bresult=PASS\b
    job.judged-good   `PASS` => ^\W*(?:(?i:overall|result|verdict|status|test result)\W{1,3})PASS(?:ED)?\W*$
    job.judged-good   ` passed` => \btest\w*(?:\[[\w.-]+\])? passed$
    job.completed     `  PASSED  ] ` => ^\[  PASSED  \] [1-9]\d* tests?\b
    job.completed     `failures: 0` => ^failures: 0$
    job.completed     `tests passed` => ^100% tests passed\b
    job.completed     `test result: ok`
    job.completed     `inished|ompleted` => (?i)^(?!.*(?:[%|]|load|captur|compil|prepar)).*\b(?:(?:finished|
                      completed)\b.{0,40}\b(\d+)(?:/| of )\1\b|(\d+)/\2\b.{0,30}\b(?:finished|completed)\b)
    job.completed     `inished |nded |ompleted |xited ` => (?i)^(?!.*{OF_A_PART}).*\b(?:finished|ended|completed|
                      exited) (?:successfully|normally|ok|fine|cleanly|without errors?)\b
    job.completed     `prompts |requests |samples |files |shards ` => (?i)\ball (?:\d+ )?(?:prompts|requests|
                      samples|files|shards) (?:are |were |have been )?(?:finished|completed|processed|done)\b
    job.completed     `Total wall time:` \d
    job.completed     `Successful requests:` => ^Successful requests:\s+[1-9]\d*\s*$
    job.completed     `run complete|un finished` => (?i)\brun (?:complete|finished)\W*$
    job.completed     `OK` => ^OK(?: \(skipped=\d+\))?$
    job.completed     ^(?:=+ )?\d+` passed`\b(?!.*(?<!x)fail).*\bin [\d.]+ ?s
    job.completed     `weep finished|tudy finished|est trial|est trial:` => ^(?:.*\b)?(?:[Ss]weep|[Ss]tudy) finis
                     hed|^Best trial
    job.completed     `rainer was signaled to stop|ignaling Trainer to stop`
    job.completed     ^(?:\S+ )?(?:exit )?`status 0`$
    job.completed     `xit code 0|xit_code=0|xitcode: 0` => (?i)^(?!.*{OF_A_PART})
                      .*\b(?:finished|completed|ended|done|exited)\b.{0,20}\bexit_?(?: ?code)?\W{1,2}0$
    job.completed     `assed|ucceeded` => (?i)^(?!.*(?:fail|error)).{0,30}\b([1-9]\d*)(?:/| of )\1
                      [ ](?:\w+ ){0,2}(?:passed|succeeded)\b
    job.completed     `FINISHED|SUCCEEDED` => -> (?:FINISHED|SUCCEEDED)\W*$
    job.completed     `error=None` => ^Result\(.*\berror=None
    job.completed     `eached|greed|orrect` => (?i)\ball (?:\d+ )?(?:replicas|ranks|workers|nodes) (?:have )?
                      (?:reached (?:the last step|step \d+)|agree|correct)\b
    job.completed     `hutdown result: OK`
    job.completed     `All processes entering MPI_Finalize|uccessfully completed|uccessfully finished`
""",
    REMARK=_REMARK,
    OF_A_PART=OF_A_PART,
    WORK=_WORK,
    COMM=r"(?:comm|sync|all_?to_?all|all_?reduce|reduce_?scatter|all_?gather)",
)


_HEADING = re.compile(
    r"^\W*(?P<of>Thread|Process) ?(?:0x)?(?P<process>\d{2,7})?\b(?:.*\b[Rr]ank[ _:=]?(?P<rank>\d+)"
    r"|: .*_TP(?P<tp>\d+)(?:_EP\d+)?\b)?"
)


@dataclass(slots=True)
class _Stacks:
    """The stack that each writer is printing: its number, its process, and the rank that a heading names."""

    number: int = 0
    open: dict[str, dict[str, str]] = field(default_factory=dict)
    ranks: dict[str, str] = field(default_factory=dict)
    """Writer -> the rank of the process whose threads it prints."""

    def begin(self, line: SourceLine) -> None:
        self.number += 1
        named = _HEADING.search(line.text)
        about = named.groupdict() if named else {}
        plain = re.search(r"\b[Rr]ank[ _:=]?(\d+)", line.text)
        rank = about.get("rank") or about.get("tp") or (plain[1] if plain else "")
        if about.get("of") == "Process":
            self.ranks[line.label] = rank or ""
        rank = rank or self.ranks.get(line.label, "")
        told = {"stack": str(self.number), "rank": rank, "process": about.get("process") or ""}
        self.open[line.label] = {name: value for name, value in told.items() if value}


def reader() -> Callable[[SourceLine], Iterator[LogEvent]]:
    """A reader that numbers the stacks, so that frames of one stack belong together."""
    stacks = _Stacks()

    def events(line: SourceLine) -> Iterator[LogEvent]:
        for item, fields in PATTERNS.found(line.text):
            if item.kind == "job.rank-skips" and line.rank is None and "ank" not in line.text:
                continue  # of nobody in particular
            if item.kind == "job.stack-of" or (item.kind == "job.stack" and "py-spy: " in line.text):
                stacks.begin(line)
            if item.kind == "job.stack":
                fields = {**stacks.open.get(line.label, {"stack": "0"}), **fields}
            yield event(item, line, fields)

    return events
