"""How right the doctor is about published settings, and about misconfigurations that people reported.

`tests/data/published_settings.jsonl` has blocks of settings of vendors, sites, and trainers, with what is wrong
in them; `tests/data/misconfigurations.jsonl` has those of public threads, with what was at fault. The doctor sees
the variables, and of a host only what a case tells: with RCCL, also that AMD's driver is loaded. A third of the
first cases was blind (13 of 18 found) until rules were written from the 5 that were missed; the list of wrong
findings has the others only. The fresh ones were collected in eight rounds and scored once unseen (13 of 21 found
up to wrong-082, 5 of 15 up to wrong-096, 15 of 27 up to wrong-121, 17 of 39 up to wrong-160: 10 of 19 of a half
that rules were then written from, 7 of 20 of one that stayed closed until they were finished, 18 of 39 up to
wrong-199, 3 of 8 up to wrong-259, 4 of 16 from wrong-260 on, 9 with the rules that these led to, 15 of 24 from
wrong-301 on); they have been open since. wrong-200 to -228 are no such round: who collected them wrote rules
then, from one half (7 of 18 found before, 14 after), while the other one was closed (2 of 8, 5 of 8; 3 and 6 of 7
without a wrong label and a slip in a snapshot); wrong-229 to -234 came after these rules. Who collected the sixth
round, which has published-246 to -253 as clean blocks, had worked on the doctor; who collected the seventh, with
published-260 to -271, and the eighth, from published-301 on, had not. In the first four, one person wrote rules,
cases, and labels; those of the fifth are of somebody else, who had not read the rules, and were drawn from
threads by a rule written before, with published-226 to -245 as clean blocks; three of its labels and three of its
snapshots were corrected after they were scored (20 of 39). The queries of the fourth were fixed before it by
class of failure, and it has host snapshots, whose details are filled in where a thread does not tell them; in the
third, a search by the class of a new rule found wrong-116 and wrong-117.

What was still missed was compared with its source on 2026-11-28, when all cases were open. Four labels are no
misconfiguration that a warning would be right about, by their sources or by the code:
* wrong-004: adapters read a retry count of 15 as 7, the default (mlx5 keeps three bits); a hint.
* wrong-052: the snapshot had addresses that the thread says the interfaces do not have. NCCL passes over these,
  and jobs of the same cluster started once they had this very list (marin-community/marin#7422); none.
* wrong-112: the bindings are those of published-001, a clean block; the thread says that they may cost; a hint.
* wrong-275: an empty value is NCCL's default, not index 0 (src/misc/param.cc, ncclLoadParam); a hint.
wrong-272 names the mask that is out of range: HIP_VISIBLE_DEVICES, which counts what ROCR_VISIBLE_DEVICES leaves.
Three cases lacked what their threads say: srun starts the tasks (wrong-201), torch is that of NVIDIA's container
25.04 (wrong-263), half of the adapters are virtual functions, without a plugin (wrong-318). With the rules BUG006,
IB066, and TRC028, which are written from what was missed, 264 of 281 are found; before, 259 of 285.
"""

import re
import shlex
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import msgspec

from benchmarks import extent
from nccltool.core import versions
from nccltool.core.findings import Finding, Severity
from nccltool.doctor import run
from nccltool.doctor.diagnosis import Diagnosis
from nccltool.doctor.options import DoctorOrder
from nccltool.hosts.facts import ConfFile, from_json, to_json
from nccltool.hosts.sources import env

DATA = Path(__file__).parents[2] / "tests/data"
CASES = int(extent.of("1000", "20"))
"""Of each file, from its beginning."""
ERRORS, WARNINGS, RECALL = 0.95, 0.80, 0.92
"""The goals: shares of errors and warnings that are right, and of misconfigurations that are found."""
PARTS: tuple["Part", ...] = ("open", "blind", "fresh")
Part = Literal["open", "blind", "fresh"]


class Wrong(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A setting that an expert would object to."""

    subject: str
    """The variable; of a host, words of which a finding's subject or message has one: `shm|shared memory`."""
    least: Literal["error", "warning", "info", "none"]
    """A finding that is less severe misses it; `none` = a finding is right, and silence too."""
    most: Literal["error", "warning"]
    """A finding that is more severe is wrong."""
    why: str
    source: str


class JobFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What must be known to see a fault, beyond the variables."""

    nccl: str | None = None
    torch: str | None = None
    nodes: int | None = None
    ranks: int | None = None
    """Of a node."""
    host: dict[str, msgspec.Raw] = {}
    """Parts of a snapshot."""
    others: tuple[dict[str, msgspec.Raw], ...] = ()
    """Parts of snapshots of further hosts, where these differ."""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A block of settings, and what is wrong in it."""

    id: str
    part: Part
    source: str
    read: str
    library: Literal["nccl", "rccl", "unknown"]
    platform: str
    kind: Literal["env", "conf", "host"]
    """host: the fault is not in a variable."""
    settings: tuple[tuple[str, str], ...]
    right: tuple[Wrong, ...]
    """Findings that are right."""
    remedy: str = ""
    facts: JobFacts = JobFacts()

    @property
    def is_published(self) -> bool:
        return self.id.startswith("published")


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What the doctor said of a case, and what it would say of the settings that its fixes leave."""

    case: Case
    findings: tuple[Finding, ...]
    exit_code: int
    lines: tuple[str, ...]
    """Commands of `--fix`."""
    anew: tuple[Finding, ...]
    """Findings that only the fixed settings have."""

    def of(self, severity: Severity) -> list[Finding]:
        return [one for one in self.findings if one.severity == severity]

    def is_right(self, finding: Finding) -> bool:
        """An error is right only where an expert would call it one."""
        return any(
            self.is_about(finding, one) and (finding.severity != "error" or one.most == "error")
            for one in self.case.right
        )

    def is_about(self, finding: Finding, entry: Wrong) -> bool:
        """Whether a finding names this fault."""
        if self.case.kind != "host":
            return entry.subject == finding.subject.name
        said = f"{finding.subject.name} {finding.message}".lower()
        return any(word in said for word in entry.subject.lower().split("|"))

    @property
    def missed(self) -> list[Wrong]:
        """Faults that no error or warning is about."""
        said = [one for one in self.findings if one.severity != "info"]
        expected = (one for one in self.case.right if one.least in ("error", "warning"))
        return [one for one in expected if not any(self.is_about(finding, one) for finding in said)]

    @property
    def against_the_vendor(self) -> list[str]:
        """Commands that change what a vendor published and no expert objects to. A setting under another name is
        about the old name."""
        wrong = {one.subject for one in self.case.right}
        changes = {line: _changed(line) for line in self.lines if self.case.is_published}
        unset = {name for name, value in changes.values() if value is None}
        renamed = {value for name, value in self.case.settings if name in unset & wrong}
        return [line for line, (name, value) in changes.items() if name not in wrong and value not in renamed]


def main() -> bool:
    """Print the figures of each part, and the wrong findings but for the blind one; whether the goals are met."""
    judged = [_judged(case) for case in cases()]
    met = [_figures(part, [one for one in judged if one.case.part == part]) for part in PARTS]
    for one in judged:
        for text in _wrong(one) if one.case.part != "blind" else ():
            print(f"  {one.case.id}: {text}")
    return all(met)


def cases() -> list[Case]:
    """Of both files. Raises msgspec.ValidationError for a line of another form."""
    decoder = msgspec.json.Decoder(Case)
    files = ("published_settings.jsonl", "misconfigurations.jsonl")
    return [decoder.decode(line) for name in files for line in (DATA / name).read_bytes().splitlines()[:CASES]]


def _judged(case: Case) -> Judged:
    before = _diagnosis(case, dict(case.settings))
    commands = tuple(line for line in before.fixes if not line.startswith("#"))
    after = _diagnosis(case, _with(case, before.fixes), commands)
    known = {(one.code, one.subject.name) for one in before.findings}
    return Judged(
        case=case,
        findings=before.findings,
        exit_code=before.verdict.exit_code,
        lines=commands,
        anew=tuple(one for one in after.findings if (one.code, one.subject.name) not in known),
    )


def _diagnosis(case: Case, settings: dict[str, str], commands: Sequence[str] = ()) -> Diagnosis:
    """Of a host of which nothing is known but the settings, and what the case tells. `commands`: of --fix, which
    the script of the job runs on the other hosts as well."""
    parts = {
        "host": "host",
        "versions": {"torch": case.facts.torch} if case.facts.torch else {},
        "amd": {"driver": "amdgpu"} if case.library == "rccl" else {},
        **case.facts.host,
    }
    facts = from_json(msgspec.json.encode(parts), case.id)
    if case.kind == "conf":
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        file = ConfFile(role="system", path="/etc/nccl.conf", exists=True, text=text)
        facts = msgspec.structs.replace(facts, conf_files=(file,))
    else:
        facts = msgspec.structs.replace(facts, env=env.chosen(settings))
    others = [
        {"host": f"host-{number}", **one, "env": _fixed(one, commands)}
        for number, one in enumerate(case.facts.others, start=2)
    ]
    with tempfile.TemporaryDirectory() as folder:
        for number, one in enumerate(
            (facts, *(from_json(msgspec.json.encode(other), case.id) for other in others))
        ):
            Path(folder, f"{number}.json").write_text(to_json(one, 0))
        order = DoctorOrder(
            facts=tuple(sorted(Path(folder).iterdir())),
            nccl=versions.parse(case.facts.nccl) if case.facts.nccl else None,
            nodes=case.facts.nodes,
            local_ranks=case.facts.ranks,
            fix=True,
        )
        return run.diagnose(order, ("benchmark",))


_IN_FILE = re.compile(r"# /etc/nccl\.conf:\d+: (?:set (?P<name>\w+)=(?P<value>.*)|remove this line)")


def _with(case: Case, lines: Sequence[str]) -> dict[str, str]:
    """The settings behind these lines of `--fix`."""
    settings = dict(case.settings)
    order = list(settings)
    for line in lines:
        place = re.match(r"# /etc/nccl\.conf:(\d+): ", line)
        in_file = _IN_FILE.fullmatch(line)
        if case.kind == "conf" and place and in_file:
            settings.pop(order[int(place[1]) - 1], None)
            if in_file["name"]:
                settings[in_file["name"]] = in_file["value"]
        elif not line.startswith("#"):
            name, value = _changed(line)
            settings.pop(name, None)
            if value is not None:
                settings[name] = value
    return settings


def _fixed(other: dict[str, msgspec.Raw], commands: Sequence[str]) -> dict[str, str]:
    """The variables of another host behind these commands."""
    env = msgspec.json.decode(other.get("env", msgspec.Raw(b"{}")), type=dict[str, str])
    for name, value in map(_changed, commands):
        env.pop(name, None)
        if value is not None:
            env[name] = value
    return env


def _changed(line: str) -> tuple[str, str | None]:
    """The variable that a command sets or unsets (None)."""
    word, assignment = shlex.split(line)[:2]
    name, _, value = assignment.partition("=")
    return name, value if word == "export" else None


def _figures(part: Part, judged: Sequence[Judged]) -> bool:
    errors = [one.is_right(finding) for one in judged for finding in one.of("error")]
    warnings = [one.is_right(finding) for one in judged for finding in one.of("warning")]
    wrong = [one for one in judged if not one.case.is_published]
    expected = sum(entry.least in ("error", "warning") for one in wrong for entry in one.case.right)
    found = expected - sum(len(one.missed) for one in wrong)
    strictly = sum(
        any(one.is_about(finding, entry) for finding in one.of("error"))
        for one in wrong
        for entry in one.case.right
        if entry.least in ("error", "warning")
    )
    good = [one for one in judged if one.case.is_published and not one.case.right]
    lines, anew = sum(len(one.lines) for one in judged), sum(len(one.anew) for one in judged)
    against = sum(len(one.against_the_vendor) for one in judged)
    print(
        f"{part}: {len(judged)} cases: errors right {_share(sum(errors), len(errors))} (at least {ERRORS:.2f}),"
        f" warnings right {_share(sum(warnings), len(warnings))} (at least {WARNINGS:.2f});"
        f" misconfigurations found as error or warning {_share(found, expected)} (at least {RECALL:.2f}), as error"
        f" {_share(strictly, expected)};"
        f" exit code 0 for {_share(sum(one.exit_code == 0 for one in good), len(good))} of the good blocks;"
        f" --fix: {lines} commands, {anew} new findings (0), {against} against the vendor (0)",
        flush=True,
    )
    shares = (
        (sum(errors), len(errors), ERRORS),
        (sum(warnings), len(warnings), WARNINGS),
        (found, expected, RECALL),
    )
    return all(count >= goal * whole for count, whole, goal in shares) and not anew and not against


def _share(count: int, whole: int) -> str:
    return f"{count}/{whole} = {count / whole:.2f}" if whole else "0/0"


def _wrong(one: Judged) -> Iterator[str]:
    settings = dict(one.case.settings)
    for finding in (*one.of("error"), *one.of("warning")):
        if not one.is_right(finding):
            name = finding.subject.name
            yield f"wrong {finding.severity} {finding.code} {name}={settings.get(name, '')}: {finding.message}"
    for entry in one.missed if not one.case.is_published else ():
        yield f"missed {entry.subject}={settings.get(entry.subject, '')}: {entry.why}"
    yield from (f"against the vendor: {line}" for line in one.against_the_vendor)
    for finding in one.anew:
        yield f"new after --fix: {finding.severity} {finding.code} {finding.subject.name}: {finding.message}"
