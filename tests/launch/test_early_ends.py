"""Hosts whose node process ended before the start."""

import pytest

from nccltool.core.findings import FindingKind, Subject
from nccltool.launch import early_ends, finding_kinds
from nccltool.launch.early_ends import ended_early, loopback, with_address


def test_what_it_last_said_is_the_evidence() -> None:
    found = ended_early("n2", 1, ["ModuleNotFoundError: No module named 'torch'"])
    assert (found.code, found.subject.name) == ("host-misconfigured", "n2")
    assert "exit code 1" in found.message
    assert found.evidence == ("ModuleNotFoundError: No module named 'torch'",)


@pytest.mark.parametrize(("name", "address"), [("127.0.0.1", "127.0.0.1"), ("192.0.2.1", "")])
def test_a_name_that_leads_here(name: str, address: str) -> None:
    assert loopback(name) == address


@pytest.mark.parametrize(
    ("kind", "address", "evidence"),
    [
        (finding_kinds.HOST_REFUSED, "127.0.1.1", ("n2 resolves to 127.0.1.1 here, which is this host", "why")),
        (finding_kinds.HOST_REFUSED, "", ("why",)),
        (finding_kinds.HOST_SILENT, "127.0.1.1", ("why",)),
    ],
)
def test_a_refusal_may_be_this_hosts_own(
    monkeypatch: pytest.MonkeyPatch, kind: FindingKind, address: str, evidence: tuple[str, ...]
) -> None:
    monkeypatch.setattr(early_ends, "loopback", lambda _: address)
    found = kind.finding(subject=Subject(kind="host", name="n2"), message="n2: no", evidence=("why",))
    assert with_address(found).evidence == evidence
