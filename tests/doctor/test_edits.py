"""An edit says where it is, and takes nothing else with it."""

from dataclasses import replace

import pytest

from nccltool.core.findings import Subject
from nccltool.doctor import edits, judge
from nccltool.doctor.edits import EnvironmentEdit, FileEdit, NotEditable
from nccltool.doctor.report import Fix, LineFix
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts import env_files
from nccltool.hosts.facts import HostFacts
from tests.doctor.rules.base import host

A = Subject(kind="variable", name="A")
UNSET, SET, RENAMED = (Fix(name="A", value=None),), (Fix(name="A", value="2 3"),), Fix(name="B", value="2")
CONF = host(files={"system": "C=1\nA=1\n"})


def of_file(text: str) -> JudgedHost:
    file = env_files.read(text.encode(), "job.env", {})
    return judge.host_of(HostFacts(host="", env=env_files.environment([file])), env_files=(file,))


@pytest.mark.parametrize(
    ("fixes", "one", "lines"),
    [
        (UNSET, host({"A": "1"}), ["unset A"]),
        (SET, host({"A": "1"}), ["export A='2 3'"]),
        ((*UNSET, RENAMED), host({"A": "1"}), ["unset A", "export B=2"]),
        (UNSET, CONF, ["# /etc/nccl.conf:2: remove this line"]),
        (SET, CONF, ["# /etc/nccl.conf:2: set A=2 3"]),
        ((*UNSET, RENAMED), CONF, ["# /etc/nccl.conf:2: set B=2"]),
        ((RENAMED,), CONF, ["# /etc/nccl.conf: add B=2"]),
        ((LineFix(path="/etc/nccl.conf", number=1, text="C=2"),), CONF, ["# /etc/nccl.conf:1: set C=2"]),
        ((RENAMED,), of_file("A=1"), ["# job.env: add B=2"]),
        ((RENAMED,), of_file("export A=1\n"), ["# job.env: add export B=2"]),
        ((*UNSET, RENAMED), of_file("A=0\n A=1"), ["# job.env:1: remove this line", "# job.env:2: set  B=2"]),
        # what cannot be said in one line, or not safely
        ((Fix(name="A", value="2\n3"),), host({"A": "1"}), []),
        ((Fix(name="A B", value="2"),), host(), []),
        ((Fix(name="A B", value=None),), host(), []),
        (UNSET, of_file("export A=1 B=2"), []),
        (SET, of_file("A=1\0"), []),
    ],
)
def test_where_it_is_set(fixes: tuple[Fix | LineFix, ...], one: JudgedHost, lines: list[str]) -> None:
    assert [edit.line for edit in edits.edits_of(fixes, A, one)] == lines


def test_it_is_applied() -> None:
    added = FileEdit(path="job.env", number=2, text="B=2", is_new=True, of_variables=True)
    one = edits.applied(of_file("NCCL_A=1"), [replace(added, text="NCCL_B=2")])
    assert one.facts.env == {"NCCL_A": "1", "NCCL_B": "2"}
    assert edits.applied(host({"A": "1"}), [EnvironmentEdit(name="A", value=None)]).facts.env == {}
    conf = edits.applied(CONF, [FileEdit(path="/etc/nccl.conf", number=2, text=None)])
    assert [one.name for one in conf.settings.all()] == ["C"]


@pytest.mark.parametrize("text", ["export NCCL_A='1", "export NCCL_A=1\\"])
def test_an_edit_that_changes_another_line_is_none(text: str) -> None:
    one = of_file("export NCCL_A=1\nNCCL_B=2\n")
    with pytest.raises(NotEditable):
        edits.applied(one, [FileEdit(path="job.env", number=1, text=text, of_variables=True)])
