"""Secrets are taken out, and what only looks a little like one stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool import redact

SECRET = "Zu8kF3vQ9xLm2Rt7"


@pytest.mark.parametrize(
    "text",
    [
        f"password={SECRET}",
        f"PASSWORD: {SECRET}",
        f"export HF_TOKEN='{SECRET}'",
        f'{{"wandb_api_key": "{SECRET}", "rank": 3}}',
        f"{{'client_secret': '{SECRET}'}}",
        f'{{\\"aws_secret_access_key\\": \\"{SECRET}\\"}}',
        f"Authorization: Bearer {SECRET}",
        f"authorization: Basic {SECRET}==",
        f"curl -H 'Proxy-Authorization: Basic {SECRET}' http://x",
        f"https://user:{SECRET}@registry/v2",
        f"git+ssh://{SECRET}@host/repo",
        f"--auth-token {SECRET}",
        f"--password={SECRET}",
        f"rank 3: MASTER_PASSPHRASE={SECRET}; next",
        f"-----BEGIN OPENSSH PRIVATE KEY-----\n{SECRET}\n-----END OPENSSH PRIVATE KEY-----",
        f"-----BEGIN RSA PRIVATE KEY-----\nabc\n{SECRET}",
        f"hf_{SECRET}",
        f"using ghp_{SECRET}{SECRET} for it",
        f"nvapi-{SECRET}",
        "AKIAIOSFODNN7EXAMPLE is the id",
        f"eyJhbGciOiJIUzI1NiJ9.{SECRET}.{SECRET}",
    ],
)
def test_a_secret_is_taken_out(text: str) -> None:
    clean, count = redact.redacted(text)
    assert count >= 1
    assert redact.REMOVED in clean
    for secret in (SECRET, "AKIAIOSFODNN7EXAMPLE", "eyJhbGci"):
        assert secret not in clean


@pytest.mark.parametrize(
    "text",
    [
        "NCCL_DEBUG=INFO",
        "max_tokens=512, tokens: 4096",
        "throughput_tokens_per_s: 12345678",
        '{"tokens": null, "secrets_removed": 0}',
        "vm:123:456 [0] NCCL INFO Channel 00/02 : 0 1 2 3",
        "http://[2001:db8::1]:9091/metrics",
        "use_auth: true",
        "an author of the paper: Kuensch",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact.redacted(text) == (text, 0)


@given(before=st.text(max_size=40), after=st.text(max_size=40))
def test_wherever_it_stands(before: str, after: str) -> None:
    clean, _ = redact.redacted(f"{before}\nHF_TOKEN={SECRET}\n{after}")
    assert SECRET not in clean


@given(value=st.text(max_size=60), other=st.integers())
def test_json_stays_json(value: str, other: int) -> None:
    clean, _ = redact.redacted(json.dumps({"api_key": value, "rank": other}))
    assert json.loads(clean)["rank"] == other


def test_twice_is_once() -> None:
    once, _ = redact.redacted(f"password={SECRET} https://a:{SECRET}@b")
    assert redact.redacted(once)[0] == once
