"""Manifests of Kubernetes and compose files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core.errors import BadInput
from nccltool.hosts.job_files import manifest

POD = "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: x\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{POD}    env:\n    - name: A\n      value: '1'\n    - {{name: B, value: '2'}}\n",
         [(8, "A", "1"), (9, "B", "2")]),
        (f"{POD}    env:\n    - {{name: A, valueFrom: {{}}}}\n    - {{name: B, value: $(A)}}\n", []),
        (f"{POD}    env: &e\n    - {{name: A, value: x}}\n  - env: *e\n", [(7, "A", "x")]),
        (f"{POD}---\n{POD}    env: [{{name: A, value: x}}]\n", [(12, "A", "x")]),
        ("apiVersion: v1\nkind: ConfigMap\ndata:\n  A: '1'\n  a.conf: x\n", [(4, "A", "1")]),
        ("apiVersion: v1\nkind: Secret\ndata:\n  A: '1'\n", []),
        ("services:\n  a:\n    environment:\n      A: 1\n      B: ${X}\n", [(4, "A", "1")]),
        ("services:\n  a:\n    environment:\n    - A=1\n    - B\n", [(4, "A", "1")]),
        (f"{POD}    args:\n    - |\n      cd x\n      export A=1\n      torchrun x.py\n", [(9, "A", "1")]),
        (f"{POD}    command: [mpirun, -x, A=1, -x, B=2, ./a]\n", [(6, "A", "1"), (6, "B", "2")]),
        (f"{POD}    command: [bash, -c, 'A=1 torchrun x.py']\n", [(6, "A", "1")]),
        ("apiVersion: v1\n---\n", []),
        (f"{POD}    env:\n    - {{[a]: b, name: A, value: {{}}}}\n    ? [c]\n    : d\n", []),
    ],
)  # fmt: skip
def test_settings(text: str, found: list[tuple[int, str, str]]) -> None:
    told = manifest.settings(text, "--env-file F", {})
    assert [(one.number, one.name, one.value) for one in told] == found


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{- if .Values.x }}\napiVersion: v1\n", "--env-file F:1 is not valid YAML"),
        ("apiVersion: v1\n\tx: 1\n", "--env-file F:2 is not valid YAML"),
        (f"apiVersion: v1\nx: {'[' * 5000}", "--env-file F is nested too deeply"),
        ("apiVersion: v1\nx: *gone\n", "--env-file F:2 is not valid YAML"),
    ],
)
def test_what_is_no_yaml(text: str, message: str) -> None:
    with pytest.raises(BadInput) as raised:
        list(manifest.settings(text, "--env-file F", {}))
    assert raised.value.message == message


@given(st.text(alphabet="env: A1-[]{},'\"\n|&*namevluecomdtaks", max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        list(manifest.settings(f"apiVersion: v1\n{text}", "F", {}))
    except BadInput as refused:
        assert "YAML" in refused.message
