"""The web configuration file that Prometheus' own exporters read: TLS and users.

https://prometheus.io/docs/prometheus/latest/configuration/https/: of its keys those that are here; any other is
refused, so that nobody believes in a protection that is not there.
"""

import os
import re
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nccltool.core import user_files
from nccltool.core.errors import BadInput
from nccltool.core.text import nearest

_CLIENT_AUTH = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
_TOP = ("tls_server_config", "basic_auth_users")
_TLS = ("cert_file", "key_file", "client_auth_type", "client_ca_file")
_LARGEST = 1 << 16
"""Room for 800 users; the time that YAML takes grows with the square of what is nested."""
_BCRYPT = re.compile(r"\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}")


@dataclass(frozen=True, kw_only=True, slots=True)
class WebConfig:
    """Who may ask, and over what."""

    cert_file: str | None = None
    """None = no TLS."""
    key_file: str | None = None
    client_ca_file: str | None = None
    client_auth: ssl.VerifyMode = ssl.CERT_NONE
    users: Mapping[str, bytes] = field(default_factory=dict)
    """Name -> bcrypt hash; empty = everybody."""


def read(file: str) -> WebConfig:
    """The configuration in a file; names of files in it are relative to it. Raises BadInput."""
    plain = _mapping(_parsed(Path(file)), _TOP, file, "")
    tls = _mapping(plain.get("tls_server_config"), _TLS, file, "tls_server_config.")
    files = {name: _beside(file, name, tls.get(name)) for name in _TLS if "file" in name}
    if bool(files["cert_file"]) != bool(files["key_file"]):
        raise BadInput(f"{file}: tls_server_config needs both cert_file and key_file", "set both or neither")
    if tls and not files["cert_file"]:
        raise BadInput(f"{file}: tls_server_config has no cert_file", "set cert_file and key_file")
    client_auth = tls.get("client_auth_type", "NoClientCert")
    named = f"{file}: tls_server_config.client_auth_type"
    if client_auth not in _CLIENT_AUTH:
        raise BadInput(f"{named} {client_auth!r} is not supported", f"choose from {', '.join(_CLIENT_AUTH)}")
    if _CLIENT_AUTH[client_auth] is not ssl.CERT_NONE and files["client_ca_file"] is None:
        raise BadInput(f"{named} {client_auth} needs client_ca_file", "set it to a PEM file")
    return WebConfig(**files, client_auth=_CLIENT_AUTH[client_auth], users=_users(plain, file))


def check(config: WebConfig, file: str) -> None:
    """Raises BadInput where its files are no certificates and keys: now, not when the first one asks."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    name = "cert_file and key_file"
    try:
        if config.cert_file:
            context.load_cert_chain(config.cert_file, config.key_file, password=_no_password)
        name = "client_ca_file"
        if config.client_ca_file:
            context.load_verify_locations(config.client_ca_file)
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        message = f"{file}: tls_server_config: {name} cannot be used: {reason}"
        raise BadInput(message, "use a matching certificate and key, without a password") from error


def _no_password() -> str:
    raise ValueError("the key is protected by a password")


def _parsed(path: Path) -> object:
    import yaml

    try:
        return yaml.safe_load(user_files.contents(path, "--web-config", largest=_LARGEST).decode())
    except UnicodeDecodeError as error:
        raise BadInput(f"--web-config {path} is not text", "name a YAML file") from error
    except (RecursionError, ValueError) as error:
        raise BadInput(f"--web-config {path} is not YAML: {_why(error)}", "correct the file") from error
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        message = f"--web-config {path}{where} is not YAML: {getattr(error, 'problem', error)}"
        raise BadInput(message, "correct that line") from error


def _why(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _mapping(value: object, known: tuple[str, ...], file: str, prefix: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadInput(
            f"{file}: {prefix.rstrip('.') or 'the file'} is not a mapping", f"its keys: {', '.join(known)}"
        )
    for key in value:
        if key not in known:
            near = nearest(str(key), known)
            remedy = f"did you mean {near}?" if near else f"known keys: {', '.join(known)}"
            raise BadInput(f"{file}: unknown key {prefix}{key}", remedy)
    return value


def _beside(config: str, key: str, name: object) -> str | None:
    if name is None or name == "":
        return None
    folder = Path(config).parent
    if not isinstance(name, str) or not os.path.isfile(folder / name):  # noqa: PTH113 - raises for a long name
        where = f"{config}: tls_server_config.{key}"
        raise BadInput(f"{where}: {name!r} is not a file", "name a PEM file, relative to the configuration")
    return str(folder / name)


def _users(plain: Mapping[str, Any], file: str) -> dict[str, bytes]:
    users = plain.get("basic_auth_users", {})
    if "basic_auth_users" in plain and users in (None, {}, []):
        raise BadInput(
            f"{file}: basic_auth_users is empty, so anyone could connect", "add users or remove the key"
        )
    if not isinstance(users, dict):
        raise BadInput(f"{file}: basic_auth_users is not a mapping", "write `name: bcrypt hash` lines")
    for name, hashed in users.items():
        if not isinstance(hashed, str) or not _BCRYPT.fullmatch(hashed):
            message = f"{file}: basic_auth_users.{name} is not a bcrypt hash"
            raise BadInput(message, "generate one: htpasswd -nBC 10 '' | tr -d ':'")
    return {str(name): hashed.encode() for name, hashed in users.items()}
