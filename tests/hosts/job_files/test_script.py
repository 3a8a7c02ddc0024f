"""Batch scripts, as users keep their settings in them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.hosts.job_files import script

HERE = {"HOME": "/root", "INHERITED": "1"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#!/bin/sh\n#SBATCH -N 2\n", True),
        ("#PBS -l select=2\n", True),
        ("export A=1\n  srun ./a\n", True),
        ("exec torchrun train.py\n", True),
        ("python3 -m torch.distributed.run x.py", True),
        ("export A=1\nB=2\n", False),
        ("SRUN_X=srun\n# srun x\n", False),
        ("if x; then\n", False),
    ],
)
def test_is_script(text: str, expected: bool) -> None:
    assert script.is_script(text) is expected


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("export A=1 B='2 3'\n", [(1, "A", "1"), (1, "B", "2 3")]),
        ("# c\nexport A=$HOME/x; export B=$A/y\n", [(2, "A", "/root/x"), (2, "B", "/root/x/y")]),
        ("if [[ $X == 1 ]]; then\n  export A=1\nelse\n  export A=2\nfi\n", [(2, "A", "1"), (4, "A", "2")]),
        ("if [ x ]; then export A=1; fi", [(1, "A", "1")]),
        ("export A=$(hostname | head -n 1)\nexport B=$A:1 C=3\n", [(2, "C", "3")]),
        ("A=1\nexport A\n", [(1, "A", "1", False), (2, "A", "1")]),
        ("A=1\n", [(1, "A", "1", False)]),
        ("INHERITED=2\n", [(1, "INHERITED", "2")]),
        ("set -a\nA=1\n", [(2, "A", "1")]),
        ("export A=1\nunset A B\nexport C=1\n", [(3, "C", "1")]),
        ("setenv A 1\n", [(1, "A", "1")]),
        ("A=1 B=2 srun ./x\nexport C=$A", [(1, "A", "1"), (1, "B", "2")]),
        ("env A=1 B=2 ./x C=3\n", [(1, "A", "1"), (1, "B", "2"), (1, "C", "3")]),
        ("cat <<EOF > f\nexport A=1\nEOF\nexport B=2\n", [(4, "B", "2")]),
        ("cat <<-'E'\n\texport A=1\n\tE\nexport B=2\n", [(4, "B", "2")]),
        ("cat <<EOF\nexport A=1\n", []),
        ("srun --export=ALL,A=1,B=x,y ./x\n", [(1, "A", "1"), (1, "B", "x")]),
        ("srun --export \"ALL,A='1,2'\" ./x\n", [(1, "A", "1,2")]),
        ("#SBATCH --export=NONE,A=1\n", [(1, "A", "1")]),
        ("mpirun -np 2 -x A=1 -x HOME \\\n  -x B=2 ./x\n", [(1, "A", "1"), (2, "B", "2")]),
        ("mpiexec -genv A 1 -env B 2 ./x -x\n", [(1, "A", "1"), (1, "B", "2")]),
        ("docker run -e A=1 --env B=2 --env=C=3 image\n", [(1, "A", "1"), (1, "B", "2"), (1, "C", "3")]),
        ("f() { export A=1; }\n(export B=2)\nx | y && export C=3 > /dev/null 2>&1\n",
         [(1, "A", "1"), (2, "B", "2"), (3, "C", "3")]),
        ("echo 'not closed\nexport A=1\n", [(2, "A", "1")]),
    ],
)  # fmt: skip
def test_settings(text: str, found: list[tuple[int, str, str] | tuple[int, str, str, bool]]) -> None:
    told = script.settings(text, HERE)
    assert [(one.number, one.name, one.value, one.is_exported) for one in told] == [
        one if len(one) == 4 else (*one, True) for one in found
    ]


@given(st.text(alphabet="A=1 \n;'\"\\$({})<E|#&-xexport", max_size=80))
def test_any_text_is_read(text: str) -> None:
    lines = text.count("\n") + 1
    assert all(1 <= one.number <= lines for one in script.settings(text, HERE))


def test_words() -> None:
    found = script.of_words(["mpirun", "-x", "A=1", "python"], 7, {})
    assert [(one.number, one.name, one.value) for one in found] == [(7, "A", "1")]
