"""The proof of settings: which variables a side has, and that both sides are compared."""

from pathlib import Path

import pytest

from nccltool.core.errors import DidNotComplete
from nccltool.doctor import fabrics
from nccltool.preflight import nested_runs, settings_proof
from nccltool.preflight.nested_runs import Call, Came
from nccltool.preflight.settings_proof import ProofOrder
from tests.conftest import Nccltool

SETTINGS = fabrics.get("aws-efa").settings


def test_a_side_has_the_settings_and_the_other_lacks_them_whatever_the_shell_has() -> None:
    assert settings_proof.variables(SETTINGS, is_set=True) == (("NCCL_SOCKET_IFNAME", "^docker,lo,veth"),)
    assert settings_proof.variables(SETTINGS, is_set=False) == (("NCCL_SOCKET_IFNAME", None),)


def test_a_run_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(calls: list[Call], *_: object) -> list[Came]:
        return [Came(run=None, folder="", why_not="rank 1 died")]

    monkeypatch.setattr(nested_runs, "run", failed)
    order = ProofOrder(settings=SETTINGS, words=("--op", "all_reduce"), deadline_s=5.0, folder=tmp_path)
    with pytest.raises(DidNotComplete, match="a run without the settings failed: rank 1 died"):
        settings_proof.prove(order, ("env",))


@pytest.mark.slow
@pytest.mark.torch
def test_a_run_on_gloo_proves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nccltool: Nccltool) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    words = ("--op", "all_reduce", "--sizes", "1KiB", "--nproc-per-node", "2")
    said = nccltool("env", "--prove", "aws-efa", *words)
    assert said.code == 4
    assert "export NCCL_SOCKET_IFNAME" in said.out
    assert "probe ran on Gloo, which reads no setting of NCCL, so nothing was proved" in said.err


@pytest.mark.slow
@pytest.mark.torch
def test_both_sides_are_measured_in_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on GPUs: what tells the backend is replaced."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setattr(settings_proof, "GLOO", "another")
    words = ("--op", "all_reduce", "--sizes", "1KiB", "--nproc-per-node", "2")
    found = settings_proof.prove(
        ProofOrder(settings=SETTINGS, words=words, deadline_s=120.0, folder=tmp_path), ("env",)
    )
    assert (len(found.a.runs), len(found.b.runs), len(found.rows)) == (3, 3, 1)
