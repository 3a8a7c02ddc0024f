"""Files of variables, as docker, podman, systemd and shells write and read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.errors import BadInput
from nccltool.hosts import env_files
from nccltool.hosts.env_files import EnvFile, EnvLine

HERE = {"HERE": "1", "NCCL_DEBUG": "WARN", "NCCL_ALGO": "Ring", "HOME": "/root"}


def read(text: str | bytes, path: str = "F") -> EnvFile:
    return env_files.read(text if isinstance(text, bytes) else text.encode(), path, HERE)


@pytest.mark.parametrize(
    ("text", "form", "variables"),
    [
        # of `env`, for docker and podman
        ("A=1\nB=x=y\n", "docker", {"A": "1", "B": "x=y"}),
        ("# c\n\nA=1\r\n  B= 2 \n", "docker", {"A": "1", "B": " 2 "}),
        ('A="1"\nB=2 # two', "docker", {"A": '"1"', "B": "2 # two"}),
        ("A=1\nA=2\nA\n", "docker", {"A": "2"}),
        ("HERE\nGONE\n", "docker", {"HERE": "1"}),
        ("NCCL_*", "docker", {"NCCL_ALGO": "Ring", "NCCL_DEBUG": "WARN"}),
        (b"\xef\xbb\xbfA=1", "docker", {"A": "1"}),
        ("BASH_FUNC_ml%%=() {  eval\n export B=2\n}\nBASH_FUNC_x%%=() { :; }\nA=1", "docker", {"A": "1"}),
        ("", "docker", {}),
        (b"A=1\0B=a\nb\0A=2\0junk\0", "env -0", {"A": "1", "B": "a\nb"}),
        # of systemd
        ("; c\nA=1\n# c\nB = '2 3' \"4\" \n", "systemd", {"A": "1", "B": "2 34"}),
        (";\nA=a \\\n  b\nB=c\\d\\\"\nC=\"a\\\n\\\"b\\$\\c\"\nD=\nE=a\"b\"\n", "systemd",
         {"A": "a   b", "B": 'cd"', "C": 'a"b$\\c', "D": "", "E": 'a"b"'}),
        (";\r\nA='1'\r\nB=2\r\n", "systemd", {"A": "1", "B": "2"}),
        # for a shell
        ("export A=1\nB='2 3' # two\n", "shell", {"A": "1", "B": "2 3"}),
        ("#!/bin/sh\nset -a\nexport A=\"x $HERE ${HERE} \\$\"; B=a\\ b C='d'\"e\"\\\nf\n", "shell",
         {"A": "x 1 1 $", "B": "a b", "C": "def"}),
        ("A=1\nexport A HERE GONE\nexport B=$A/x:${GONE:-no}${HERE-no}", "shell",
         {"A": "1", "HERE": "1", "B": "1/x:no1"}),
        ("declare -x A=\"a\nb\"\nexport B=~/x:~", "shell", {"A": "a\nb", "B": "/root/x:~"}),
        ("export A=1\r\n\r\n# c\r\nexport B='2'\r\n", "shell", {"A": "1\r", "B": "2\r"}),
        ("export PATH=$(x):$PATH OLD=`y`\nexport LD_LIBRARY_PATH=/a:$LD_LIBRARY_PATH", "shell",
         {"LD_LIBRARY_PATH": "/a:"}),
        # of jobs
        ("#!/bin/sh\n#SBATCH -N 2\nexport A=1\nsrun -l --export=ALL,B=2 x\n", "script", {"A": "1", "B": "2"}),
        ("apiVersion: v1\nspec:\n  env:\n  - name: A\n    value: '1'\n", "manifest", {"A": "1"}),
        ("# c\nservices:\n  a:\n    environment: [A=1]\n", "manifest", {"A": "1"}),
        ('{"apiVersion": "v1", "env": {"A": "1"}}', "manifest", {"A": "1"}),
        ("FROM x\nENV A=1\n", "Dockerfile", {"A": "1"}),
    ],
)  # fmt: skip
def test_variables(text: str | bytes, form: str, variables: dict[str, str]) -> None:
    file = read(text)
    assert file.form == form
    assert env_files.environment([file]) == variables


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A=1\nA B=secret", "F:2: 'A B=' has a space in the name"),
        ("A=1\nNCCL_DEBUG = INFO", "F:2: 'NCCL_DEBUG =' has a space in the name"),
        ("=1", "F:1: '=' is not NAME=value"),
        ("A=1\n\nNCCL_DEBUG: INFO", "F:3: 'NCCL_DEBUG: INFO' is not NAME=value"),
        ("A=1\nBASH_FUNC_f%%=() {  x\n y", "F:2: the function does not end"),
        (b"\xff\xfeA\0=\0", "F is UTF-16"),
        (b"\x7fELF\0\0\x01\xff=\0", "F: entry 1, '\\x7fELF', is not a variable"),
        (";\nA=1\nexport\n", "F:3: 'export' is not NAME=value"),
        (';\nA="1\nB=2\n', 'F:2: the quote " is not closed'),
        ("export A=1\nif x; then", "F:2: 'if x; then' is not an assignment"),
        ("export A=1\nB='2\n", "F:2: the quote ' is not closed"),
        ("export A=1\nA=1 x", "F:2: 'A=' is not an assignment"),
        ("export A=1\nexport B=2 && x", "F:2: 'export B=' is not an assignment"),
        ("export NCCL_ALGO=$(x)", "F:1: the value of NCCL_ALGO depends on a command or an expression"),
        ("export B=`x`\n\nNCCL_ALGO=$B", "F:3: the value of NCCL_ALGO depends on B, which is not known"),
        ("export NCCL_ALGO=${GONE}", "F:1: the value of NCCL_ALGO depends on GONE, which is not set here"),
    ],
)
def test_what_cannot_be_read_is_named(text: str | bytes, message: str) -> None:
    with pytest.raises(BadInput) as raised:
        read(text)
    assert raised.value.message == f"--env-file {message}"


def _written(text: str, value: str) -> str | None:
    file = read(text)
    return file.rewritten(file.lines[-1], "B", value)


@pytest.mark.parametrize(
    ("text", "value", "line"),
    [
        ("A=1\n  A='2'", "3 4", "  B=3 4"),
        ("HERE", "2", "B=2"),
        ("NCCL_D*", "2", None),
        ("export A=1", "2", "export B=2"),
        ("export A=1", "2 $3", "export B='2 $3'"),
        ('export  A="1"  # why\r\n', 'a$"b', 'export  B="a\\$\\"b"  # why'),
        ("export A='1'\t;", "2", "export B='2'\t;"),
        ("export A='1'", "it's", "export B='it'\"'\"'s'"),
        ("export A=1 C=2", "2", None),
        ("export A=1; C=2", "2", None),
        ("export A=$HERE", "2", None),
        ("export A='1\n2'", "2", None),
        (';\n A = "1"', "2 3", ' B="2 3"'),
        (";\nA=1", "2 3", "B='2 3'"),
        (";\nA=1\\\n2", "2", None),
        ("A=1", "a\nb", None),
        ("export A=1\nsrun x", "2", None),
    ],
)
def test_a_line_is_rewritten_in_its_own_form(text: str, value: str, line: str | None) -> None:
    assert _written(text, value) == line
    file = read(text)
    if line is not None:
        number = file.lines[-1].number
        assert env_files.environment([file.with_line(number, line)])["B"] == value
        assert len(file.with_line(number, None).lines) == len(file.lines) - 1


def test_a_later_file_wins() -> None:
    files = [read("A=1\nB=1", "f"), read("# c\nexport A=2", "g")]
    assert env_files.environment(files) == {"A": "2", "B": "1"}
    assert env_files.places(files) == {"A": "g:2", "B": "f:2"}


@given(st.one_of(st.binary(max_size=500), st.text("A=export'\"\\ $(){};#\n`", max_size=60).map(str.encode)))
def test_any_file_can_be_read(data: bytes) -> None:
    try:
        file = env_files.read(data, "F", HERE)
    except BadInput as error:
        assert "--env-file F" in error.message
    else:
        assert all(isinstance(line, EnvLine) for line in file.lines)
