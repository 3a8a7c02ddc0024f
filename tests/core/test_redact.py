"""Secrets are taken out, and what only looks a little like one stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nccltool.core import redact

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
        f'DB_PASSWORD="two words {SECRET}"',
        f"password: two words {SECRET}",
        f"token: >-\n    {SECRET}\nnext: 1",
        f"PASSWORD=ab;{SECRET}",
        f"- name: WANDB_API_KEY\n  value: {SECRET}",
        f"      HF_TOKEN:   {SECRET}",
        f"AccountName=x;AccountKey={SECRET}==;EndpointSuffix=core.windows.net",
        f"https://x.blob/c?sv=2022&sig={SECRET}%3D",
        f"https://user:a@{SECRET}@host/x",
        f"[CURRENT]\napikey = {SECRET}",
        f"machine h\n  login u\n  password {SECRET}",
        f"curl -u admin:{SECRET} http://x",
        f"Cookie: a=b; session={SECRET}",
        f"['prog', '--api-key', '{SECRET}']",
        f"ENV HF_TOKEN {SECRET}",
        f"<password>{SECRET}</password>",
        f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n{SECRET}",
        f"kind: Secret\ndata:\n  mine: {SECRET}\n",
        f"    client-key-data: {SECRET}{SECRET}",
        f"pypi-{SECRET}{SECRET}",
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
        "author: Me",
        "tokenizer: bert-base",
        "--max-tokens 4096 --tokenizer bert",
        "AuthType=auth/munge",
        "HF_TOKEN_PATH=/root/x",
        "iommu=pt passthrough: enabled",
        "Basic information about the host",
        "sk_buff_fclone_cache_is_a_name 12",
        '{"tokens": [1, 2, 3], "secrets": []}',
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


@pytest.mark.parametrize(
    "document",
    [
        {"auths": {"nvcr.io": {"auth": f"{SECRET}{SECRET}"}}},
        {"password": f'a"b,\\ {SECRET}'},
        {"password": 123456, "other": SECRET[:3]},
        {"env": [{"name": "HF_TOKEN", "value": SECRET}], "command": ["prog", "--password", SECRET]},
        {"text": json.dumps({"password": f"x {SECRET}", "more": json.dumps({"token": SECRET})})},
        {"text": f"Authorization: Bearer x\r\nPASSWORD='{SECRET}'"},
    ],
)
def test_documents_stay_documents(document: dict[str, object]) -> None:
    lines = f"{json.dumps(document)}\n" * 3
    for text, parts in (
        (json.dumps(document, indent=2), lambda clean: [clean]),
        (json.dumps(document), lambda clean: [clean]),
        (lines, str.splitlines),
    ):
        clean, count = redact.redacted(text)
        assert count >= 1
        assert SECRET not in clean
        assert "123456" not in clean
        assert [type(json.loads(part)) for part in parts(clean)] == [dict] * len(parts(text))


def test_json_inside_of_a_log_stays_json() -> None:
    text = json.dumps({"password": f'a"b {SECRET}', "rank": 3})
    clean, _ = redact.redacted(f"rank 3 was given {text}")
    assert json.loads(clean.removeprefix("rank 3 was given ")) == {"password": redact.REMOVED, "rank": 3}


def test_twice_is_once() -> None:
    once, _ = redact.redacted(f"password={SECRET} https://a:{SECRET}@b")
    assert redact.redacted(once)[0] == once
