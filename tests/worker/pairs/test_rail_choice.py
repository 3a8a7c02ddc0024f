"""One rail for the time of a meeting."""

import os

import pytest

from nccltool.worker.pairs import rail_choice


@pytest.mark.parametrize("before", ["eth0", None])
def test_gloo_has_its_rail_for_one_meeting(before: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if before is None:
        monkeypatch.delenv("GLOO_SOCKET_IFNAME", raising=False)
    else:
        monkeypatch.setenv("GLOO_SOCKET_IFNAME", before)
    with rail_choice.only("eth1", "gloo"):
        assert os.environ["GLOO_SOCKET_IFNAME"] == "eth1"
    assert os.environ.get("GLOO_SOCKET_IFNAME") == before


@pytest.mark.parametrize(("rail", "backend"), [(None, "gloo"), ("eth1", "nccl")])
def test_nothing_is_changed(rail: str | None, backend: str) -> None:
    before = dict(os.environ)
    with rail_choice.only(rail, backend):
        assert dict(os.environ) == before


def test_an_unknown_name_is_an_interface() -> None:
    assert rail_choice.variables("eth77", "nccl")["NCCL_SOCKET_IFNAME"] == "=eth77"
