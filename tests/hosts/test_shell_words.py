"""What a shell would set, compared with a shell."""

import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.hosts import env_files


@given(st.dictionaries(st.sampled_from("ABC"), st.text("a b'\"\\#$`;~=\n", max_size=8), min_size=1, max_size=3))
def test_what_a_shell_quotes_is_read_as_the_shell_reads_it(variables: dict[str, str]) -> None:
    text = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    assert env_files.environment([env_files.read(text.encode(), "F", {"HOME": "/root"})]) == variables


@pytest.mark.parametrize(
    "text",
    [
        "export A=a\\ b B=\"c\\\"d\\\\e\\$f\\`g\\h\"'i'\\'j # k\nC=#l D=m#n\nE=~/o F='p\nq'",
        "export A=1\nA=$A$A B=${A}x${GONE:-y z}${GONE-w} C=\"${GONE:-}$A\" D='$A' E=\\$A\\\nF",
        'export A=1\nexport A=2 B=${A:+:$A} C=${GONE:+x} D=${A+y${A}z}\nE="${GONE:-${A}b}" F=${GONE-$E}',
        "export Z=$(( $(echo 8) / 2 )) A=1",
        'set -a; A=1; B=2;C=3\n\nexport D="a\\\nb" E=',
    ],
)
def test_it_is_read_as_a_shell_does(text: str, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text(text)
    done = subprocess.run(
        ["env", "-i", "HOME=/root", "sh", "-c", f"set -a; . {file}; env -0"], capture_output=True, check=True
    )
    shell = dict(one.split("=", 1) for one in done.stdout.decode().split("\0") if one)
    ours = env_files.environment([env_files.read(text.encode(), "F", {"HOME": "/root"})])
    assert ours == {name: value for name, value in shell.items() if name in ours}
    assert {name for name in shell if len(name) == 1 and name not in "_Z"} == ours.keys()
