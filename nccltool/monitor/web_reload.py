"""SIGHUP: the web configuration is read again, as `systemctl reload` asks; a terminal that closes ends the server.

Certificate, key and users are exchanged for the connections that come next. What cannot be used changes nothing.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass

from nccltool.core.errors import BadInput
from nccltool.monitor import web_config
from nccltool.monitor.web_config import WebConfig


@dataclass(slots=True)
class WebReload:
    """The web configuration in use."""

    file: str | None
    """None = there is none to read."""
    web: WebConfig
    say: Callable[[str], None]

    async def on(self, asked: asyncio.Event, use: Callable[[WebConfig], None]) -> None:
        """Read it again whenever that is asked for; `use` takes what is new."""
        while True:
            await asked.wait()
            asked.clear()
            await self._again(use)

    async def _again(self, use: Callable[[WebConfig], None]) -> None:
        if self.file is None:
            self.say("SIGHUP: nothing to reload without --web-config")
            return
        try:
            new = await asyncio.to_thread(_checked, self.file)  # its file system may hang
            if what := self._needs_restart(new):
                raise BadInput(f"{self.file}: a change of {what} needs a restart", "restart the server")
            use(new)
        except (BadInput, OSError) as error:
            why = error.message if isinstance(error, BadInput) else f"{self.file}: {error}"
            self.say(f"not reloaded: {why}; the previous configuration stays in use")
            return
        self.web = new
        removed = "; certificates removed from client_ca_file remain trusted until a restart"
        self.say(f"reloaded {self.file}{removed if new.client_ca_file else ''}")

    def _needs_restart(self, new: WebConfig) -> str:
        if bool(new.cert_file) != bool(self.web.cert_file):
            return "plain text or TLS"
        if (new.client_auth, new.client_ca_file) != (self.web.client_auth, self.web.client_ca_file):
            return "client_auth_type or client_ca_file"
        return ""


def _checked(file: str) -> WebConfig:
    found = web_config.read(file)
    web_config.check(found, file)
    return found


def take_hangups(loop: asyncio.AbstractEventLoop, asked: asyncio.Event, ended: asyncio.Event) -> None:
    """SIGHUP asks to reload; where our terminal is gone, it ends. What nohup turned off stays off."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return
    had_terminal = _has_terminal()

    def on_hangup() -> None:
        (ended if had_terminal and not _has_terminal() else asked).set()

    loop.add_signal_handler(signal.SIGHUP, on_hangup)


def _has_terminal() -> bool:
    """Whether a terminal controls this process; one that was closed cannot be opened any more."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
