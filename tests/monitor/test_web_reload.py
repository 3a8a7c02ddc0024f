"""Reading the web configuration again; with a server, in test_serve."""

import asyncio
import ssl
from dataclasses import replace

import pytest

from nccltool.monitor import web_reload
from nccltool.monitor.web_config import WebConfig
from nccltool.monitor.web_reload import WebReload

OLD = WebConfig(cert_file="c", key_file="k", client_ca_file="a", client_auth=ssl.CERT_REQUIRED)


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (replace(OLD, key_file="other"), "reloaded web.yml; certificates removed from client_ca_file remain"),
        (
            replace(OLD, client_auth=ssl.CERT_OPTIONAL),
            "client_auth_type or client_ca_file needs a restart",
        ),
        (replace(OLD, client_ca_file="b"), "client_auth_type or client_ca_file needs a restart"),
        (WebConfig(), "a change of plain text or TLS needs a restart"),
    ],
)
def test_what_is_taken_and_what_needs_a_restart(
    new: WebConfig, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []
    used: list[WebConfig] = []
    monkeypatch.setattr(web_reload, "_checked", lambda file: new)
    reload = WebReload("web.yml", OLD, notes.append)

    async def once() -> None:
        asked = asyncio.Event()
        asked.set()
        task = asyncio.create_task(reload.on(asked, used.append))
        while not notes:
            await asyncio.sleep(0.01)
        task.cancel()

    asyncio.run(asyncio.wait_for(once(), 10))
    is_taken = said.startswith("reloaded")
    assert said in notes[0]
    assert used == ([new] if is_taken else [])
    assert reload.web == (new if is_taken else OLD)
