"""The web configuration file: what is read, and what is refused."""

import ssl
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.monitor import web_config
from nccltool.monitor.web_config import WebConfig

HASH = "$2y$10$" + "a" * 53


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for name in ("cert.pem", "key.pem", "ca.pem"):
        (tmp_path / name).touch()
    return tmp_path / "web.yml"


def test_an_empty_one_protects_nothing(file: Path) -> None:
    file.write_text("")
    assert web_config.read(str(file)) == WebConfig()


def test_files_are_found_beside_it(file: Path) -> None:
    file.write_text(
        "tls_server_config:\n  cert_file: cert.pem\n  key_file: key.pem\n"
        "  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n"
        f"basic_auth_users:\n  sre: {HASH}\n"
    )
    assert web_config.read(str(file)) == WebConfig(
        cert_file=str(file.parent / "cert.pem"),
        key_file=str(file.parent / "key.pem"),
        client_ca_file=str(file.parent / "ca.pem"),
        client_auth=ssl.CERT_REQUIRED,
        users={"sre": HASH.encode()},
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "line 1 is not YAML"),
        ("- a", "the file is not a mapping"),
        ("tls_config: {}", "unknown key tls_config"),
        ("tls_server_config: {cert_file: cert.pem}", "needs both cert_file and key_file"),
        ("tls_server_config: {client_auth_type: NoClientCert}", "has no cert_file"),
        ("tls_server_config: {cert_file: no.pem, key_file: key.pem}", "cert_file: 'no.pem' is not a file"),
        ("tls_server_config: {min_version: TLS13}", "unknown key tls_server_config.min_version"),
        (
            "tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_auth_type: RequireAnyClientCert}",
            "'RequireAnyClientCert' is not supported",
        ),
        (
            "tls_server_config: {cert_file: cert.pem, key_file: key.pem, client_auth_type: "
            "VerifyClientCertIfGiven}",
            "needs client_ca_file",
        ),
        ("basic_auth_users: [sre]", "basic_auth_users is not a mapping"),
        ("basic_auth_users: []", "basic_auth_users is empty"),
        ("basic_auth_users:", "basic_auth_users is empty"),
        (f"basic_auth_users: {{sre: {HASH[:-1]}ä}}", "basic_auth_users.sre is not a bcrypt hash"),
        ("basic_auth_users: {sre: geheim}", "basic_auth_users.sre is not a bcrypt hash"),
        ("!!python/object:os.system {}", "is not YAML"),
        (f"tls_server_config: {{cert_file: {'c' * 5000}, key_file: key.pem}}", "is not a file"),
        ("[" * 5000, "is not YAML: it is nested too deeply"),
        ("a: 2026-99-99", "is not YAML: month must be in"),
        ("a" * 70_000, "is larger than 64 KiB"),
    ],
)
def test_what_is_refused(file: Path, text: str, message: str) -> None:
    file.write_text(text)
    with pytest.raises(BadInput, match=message):
        web_config.read(str(file))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        web_config.read(str(tmp_path / "web.yml"))


def test_a_file_that_is_not_text(file: Path) -> None:
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadInput, match="is not text"):
        web_config.read(str(file))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (WebConfig(cert_file=__file__, key_file=__file__), "cert_file and key_file cannot be used"),
        (WebConfig(client_ca_file=__file__), "client_ca_file cannot be used"),
    ],
)
def test_files_that_are_no_certificates(config: WebConfig, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        web_config.check(config, "web.yml")
