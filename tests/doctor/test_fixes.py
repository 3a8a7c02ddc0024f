"""Fixes that are printed do what they say, and no harm."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from nccltool.core.versions import Version
from nccltool.doctor import fixes, judge, rules
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts import env_files
from nccltool.hosts.facts import ConfFile, HostFacts
from nccltool.hosts.nccl import variables
from nccltool.hosts.sources.env import chosen
from tests.captured_hosts import healthy
from tests.doctor.rules.base import host

EVERY = rules.every()
CONF = "/etc/nccl.conf"


def plan(one: JudgedHost) -> fixes.FixPlan:
    return fixes.plan([one], judge.judge([one], EVERY).problems, lambda hosts: judge.judge(hosts, EVERY))


def fixed(one: JudgedHost, lines: Iterable[str]) -> JudgedHost:
    """The host after its user has done what these lines say."""
    env = dict(one.facts.env)
    conf = {file.path: str(file.text).split("\n") for file in one.facts.conf_files}
    conf |= {file.path: file.text.split("\n") for file in one.env_files}
    for line in lines:
        if place := re.fullmatch(r"# (/\S+):(\d+): (set |remove this line)(.*)", line):
            conf[place[1]][int(place[2]) - 1] = place[4]
        elif added := re.fullmatch(r"# (/\S+): add (.*)", line):
            conf[added[1]].append(added[2])
        elif not line.startswith("#"):
            word, assignment = shlex.split(line)
            name, _, value = assignment.partition("=")
            env.pop(name, None)
            env |= {name: value} if word == "export" else {}
    files = tuple(replace(file, text="\n".join(conf[file.path])) for file in one.facts.conf_files)
    nccl = one.nccl if isinstance(one.nccl, Version) else None
    if one.env_files:
        return of_files({file.path: "\n".join(conf[file.path]) for file in one.env_files}, nccl)
    return judge.host_of(replace(one.facts, env=env, conf_files=files), nccl, 2, 8)


def of_files(texts: Mapping[str, str], nccl: Version | None = None) -> JudgedHost:
    """The settings of files of variables, without a host."""
    files = tuple(env_files.read(text.encode(), path, {"NCCL_DEBUG": "LOUD"}) for path, text in texts.items())
    facts = HostFacts(host="", root="", env=chosen(env_files.environment(files)), env_source="files")
    return judge.host_of(facts, nccl, 2, 8, env_files=files)


def problems(one: JudgedHost) -> list[tuple[str, str, str]]:
    return [
        (each.rule.code, each.found.subject.name, each.severity) for each in judge.judge([one], EVERY).problems
    ]


def found(one: JudgedHost) -> Counter[tuple[str, str]]:
    return Counter((each.rule.code, each.found.subject.name) for each in judge.judge([one], EVERY).problems)


@pytest.mark.parametrize(
    ("env", "conf", "lines"),
    [
        ({"NCCL_BUFFSIZE": "4M"}, "", ["export NCCL_BUFFSIZE=4194304"]),
        ({"NCCL_BUFFSIZE": "4M # four"}, "", ["export NCCL_BUFFSIZE=4194304"]),
        (
            {},
            "NCCL_BUFFSIZE=4M # four",
            [f"# {CONF}:1: set NCCL_BUFFSIZE=4194304"],
        ),
        ({}, "\nexport NCCL_IB_TIMEOUT = '22'  # slow", [f"# {CONF}:2: set NCCL_IB_TIMEOUT=22"]),
        ({}, "NCCL_DEBUG=DEBUG", [f"# {CONF}:1: set NCCL_DEBUG=INFO"]),
        ({"NCCL_DEBUG": "WARN # less"}, "", ["export NCCL_DEBUG=WARN"]),
        ({"NCCL_SHM_DISABLE": "yes"}, "", ["unset NCCL_SHM_DISABLE"]),
        # hints are not fixed: they may be meant
        ({"NCCL_NET": "gIB", "NCCL_PROTO": "Simple", "NCCL_CROSS_NIC": "0", "NCCL_NET_GDR_LEVEL": "SYS"}, "", []),
        # 9 means SYS: another hint
        ({"NCCL_NET_GDR_LEVEL": "9"}, "", []),
    ],
)
def test_lines(env: dict[str, str], conf: str, lines: list[str]) -> None:
    one = host({"NCCL_DEBUG": "WARN", **env} if "NCCL_DEBUG" not in conf else env, files={"system": conf})
    told = [line for line in plan(one).lines() if not line.startswith("# ") or line.startswith(f"# {CONF}")]
    assert told == lines


JOB, TWO = "/job.env", "/two.env"


@pytest.mark.parametrize(
    ("texts", "lines"),
    [
        # as docker reads it
        ({JOB: 'NCCL_IB_HCA="mlx5_0"\nNCCL_DEBUG=WARN'}, [f"# {JOB}:1: set NCCL_IB_HCA=mlx5_0"]),
        ({JOB: "NCCL_DEBUG=WARN\nNCCL_BUFFSIZE='4M'"}, [f"# {JOB}:2: set NCCL_BUFFSIZE=4194304"]),
        ({JOB: '  NCCL_DEBGU="INFO" '}, [f"# {JOB}:1: set   NCCL_DEBUG=INFO"]),
        ({JOB: 'NCCL_IB_HCA="mlx5_0\nNCCL_DEBUG=WARN'}, []),
        ({JOB: 'NCCL_IB_HCA="mlx5_0" "mlx5_1"\nNCCL_DEBUG=WARN'}, []),
        ({JOB: "NCCL_SOCKET_IFNAME=eth0 eth1\nNCCL_DEBUG=WARN"}, []),
        ({JOB: 'NCCL_DEBUG=WARN\nNCCL_SOCKET_IFNAME="eth0, eth1"'},
         [f"# {JOB}:2: set NCCL_SOCKET_IFNAME=eth0,eth1"]),
        ({JOB: "NCCL_DEBUG"}, [f"# {JOB}:1: set NCCL_DEBUG=INFO"]),
        ({JOB: "NCCL_DEBUG=LOUD\0"}, []),
        ({JOB: "NCCL_DEB*"}, []),
        ({JOB: "NCCL_DEBUG=${LEVEL:-LOUD}"}, []),
        ({JOB: "NCCL_DEBUG=WARN NCCL_ALGO=Ring"}, []),
        ({JOB: "NCCL_DEBUG=warn # less"}, [f"# {JOB}:1: set NCCL_DEBUG=WARN"]),
        # what sets a variable twice is unset twice
        ({JOB: "NCCL_DEBUG=WARN\nNCCL_TIMEOUT=1\nNCCL_TIMEOUT=2", TWO: "NCCL_TIMEOUT=3"},
         [f"# {JOB}:2: remove this line", f"# {JOB}:3: remove this line", f"# {TWO}:1: remove this line"]),
        ({JOB: "NCCL_DEBUG=INFO", TWO: "NCCL_DEBUG=LOUD"}, [f"# {TWO}:1: set NCCL_DEBUG=INFO"]),
        # as systemd and shells read it
        ({JOB: ';\nNCCL_BUFFSIZE = "4M"\nNCCL_DEBUG=WARN'}, [f'# {JOB}:2: set NCCL_BUFFSIZE="4194304"']),
        ({JOB: ";\nNCCL_BUFFSIZE=4\\\nM\nNCCL_DEBUG=WARN"}, []),
        ({JOB: 'export NCCL_DEBUG=WARN\nexport NCCL_BUFFSIZE="4M" # four\r'},
         [f'# {JOB}:2: set export NCCL_BUFFSIZE="4194304" # four']),
        ({JOB: "export NCCL_DEBUG='LOUD' NCCL_X=1"}, []),
        ({JOB: "export M=M\nexport NCCL_DEBUG=WARN NCCL_BUFFSIZE=4$M"}, []),
        ({JOB: "export NCCL_SOCKET_IFNMAE='eth0'\nexport NCCL_SOKCET_IFNAME=eth0\nexport NCCL_DEBUG=WARN"},
         [f"# {JOB}:1: set export NCCL_SOCKET_IFNAME='eth0'", f"# {JOB}:2: remove this line"]),
        ({JOB: "NCCL_SOCKET_IFNMAE=eth0\nNCCL_SOKCET_IFNAME=eth1\nNCCL_DEBUG=WARN"}, []),
    ],
)  # fmt: skip
def test_files_of_variables_are_edited_in_their_own_form(texts: dict[str, str], lines: list[str]) -> None:
    one = of_files(texts)
    told = list(plan(one).lines())
    assert [line for line in told if line.startswith("# /")] == lines
    assert all(line.startswith("#") for line in told)
    graver = {each for each in problems(one) if each[2] != "info"}
    assert lines == [] or len({each for each in problems(fixed(one, told)) if each[2] != "info"}) < len(graver)


@pytest.mark.parametrize(
    ("conf", "lines"),
    [
        ('NCCL_IB_HCA="mlx5_0,mlx5_0"', [f"# {CONF}:1: set NCCL_IB_HCA=mlx5_0"]),
        ("export NCCL_IB_HCA='mlx5_0'", [f"# {CONF}:1: set NCCL_IB_HCA=mlx5_0"]),
        ('NCCL_IB_HCA="mlx5_0', []),
        ('export NCCL_IB_HCA="mlx5_0', []),
        ("export NCCL_IB_HCA=mlx5_0 NCCL_DEBUG=INFO", []),
        ('NCCL_IB_HCA="mlx5_0" "mlx5_1"', []),
        ("NCCL_SOCKET_IFNMAE = 'eth0, eth1' # two", [f"# {CONF}:1: set NCCL_SOCKET_IFNAME=eth0,eth1"]),
    ],
)
def test_a_line_of_a_configuration_file_is_edited_once(conf: str, lines: list[str]) -> None:
    told = list(plan(host({"NCCL_DEBUG": "WARN"}, files={"system": conf})).lines())
    assert [line for line in told if line.startswith(f"# {CONF}")] == lines


def test_what_cannot_be_fixed_needs_a_decision() -> None:
    told = list(plan(host({"NCCL_DEBUG": "WARN", "NCCL_COLLNET_ENABLE": "perhaps"})).lines())
    assert told == [
        "# SYN011 word-for-number: NCCL reads NCCL_COLLNET_ENABLE as 0: its value is not a number",
        "# needs a decision: set a number",
    ]


def test_a_line_for_a_shell_cannot_be_more_than_one() -> None:
    one = host({"NCCL_SOCKET_IFNAME": "$(reboot)*,a\nreboot ;#"}, files={"system": 'NCCL_IB_HCA="`reboot`\x1b"'})
    for line in plan(one).lines():
        assert line.isprintable()
        assert line.startswith("#") or len(shlex.split(line)) == 2


def test_healthy_machines_get_no_commands() -> None:
    for kind in ("ib", "roce", "aws", "gcp"):
        lines = list(plan(judge.host_of(healthy(kind), nodes=2)).lines())
        assert [line for line in lines if not line.startswith("#")] == []


NAMES = sorted(variables.every())
_ODD = (
    *("", "0", "1", "2", "-1", "true", "no", "4M", "8 MB", "22 # slow", "010", '"mlx5_0"', " eth0", "eth0, eth1"),
    *(
        "^lo",
        "=eth0",
        "eth*",
        "mlx5_1",
        "Tree",
        "Ring,Tree",
        "LL128",
        "SYS",
        "pix",
        "INFO",
        "debug",
        "none",
        "~/x",
    ),
)
VALUES = st.one_of(
    st.sampled_from(_ODD),
    st.integers(-2, 1 << 25).map(str),
    st.text(max_size=12),
)
SETTINGS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=6)
LINES = st.builds(lambda before, name, equals, value, after: f"{before}{name}{equals}{value}{after}",
    st.sampled_from(["", " ", "export "]), st.sampled_from(NAMES), st.sampled_from(["=", " = "]), VALUES,
    st.sampled_from(["", " ", " # why", "\r"]),
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(
    st.sampled_from(["", "ib", "aws"]),
    SETTINGS,
    st.lists(LINES, max_size=3),
    st.sampled_from([None, (2, 21, 5), (2, 30, 7)]),
)
def test_printed_fixes_remove_what_they_name_and_add_nothing(
    kind: str, env: dict[str, str], lines: Sequence[str], nccl: tuple[int, int, int] | None
) -> None:
    conf = ConfFile(role="system", path=CONF, exists=True, text="\n".join(lines))
    parts = healthy(kind) if kind else host().facts
    facts = replace(parts, env=env, conf_files=(conf,))
    one = judge.host_of(facts, Version(*nccl) if nccl else None, 2, 8)
    made = plan(one)
    after = found(fixed(one, made.lines()))
    assert not after - found(one)
    for problem in (each for repair in made.fixed for each in repair.problems):
        key = (problem.rule.code, problem.found.subject.name)
        assert after[key] < found(one)[key]
        assert problem.severity != "info"
    places = [edit.place for repair in made.fixed for edit in repair.edits]
    assert len(places) == len(set(places))


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(["", ";\n", "set -a\nexport HERE=1\n"]), SETTINGS)
def test_edits_of_files_of_variables_do_what_they_say(form: str, env: dict[str, str]) -> None:
    quoted = {name: shlex.quote(value) if form else value for name, value in env.items() if value.isprintable()}
    one = of_files({JOB: form + "".join(f"{name}={value}\n" for name, value in quoted.items())})
    made = plan(one)
    after = found(fixed(one, made.lines()))
    assert not after - found(one)
    for problem in (each for repair in made.fixed for each in repair.problems):
        key = (problem.rule.code, problem.found.subject.name)
        assert after[key] < found(one)[key]


CASES = Path(__file__).parents[1] / "data/published_settings.jsonl"
PUBLISHED = [case for case in map(json.loads, CASES.read_text().splitlines()) if case["part"] == "open"]


@pytest.mark.parametrize("platform", sorted({case["platform"] for case in PUBLISHED}))
def test_no_command_changes_what_a_vendor_publishes(platform: str) -> None:
    cases = [case for case in PUBLISHED if case["platform"] == platform]
    assert {case["id"]: changed for case in cases if (changed := _changed(case))} == {}


def _changed(case: dict[str, Any]) -> list[str]:
    """Commands about variables that nobody objects to. A setting under another name is about the old name."""
    wrong = {one["subject"] for one in case["right"]}
    lines = plan(host(dict(case["settings"]), nccl=None, nodes=None, local_ranks=None)).lines()
    commands = [shlex.split(line)[:2] for line in lines if not line.startswith("#")]
    unset = {words[1] for words in commands if words[0] == "unset"}
    renamed = {value for name, value in case["settings"] if name in unset & wrong}
    left = []
    for word, assignment in commands:
        name, _, value = assignment.partition("=")
        if name not in wrong and not (word == "export" and value in renamed):
            left.append(f"{word} {assignment}")
    return left
