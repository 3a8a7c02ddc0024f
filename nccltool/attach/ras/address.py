"""Where RAS listens: NCCL_RAS_ADDR of the job, else localhost:28028."""

import re
from dataclasses import dataclass

DEFAULT_PORT = 28028
_V6 = re.compile(r"\[([0-9A-Fa-f:.%\w]{2,64})\]:(\d{1,5})")
_PLAIN = re.compile(r"([^\s:\[\]]{1,253}):(\d{1,5})")
_LOCALHOST = ("127.0.0.1", "::1")


@dataclass(frozen=True, kw_only=True, slots=True)
class RasAddress:
    """One address as the job has it. localhost may be IPv4 or IPv6 (nccl#1669), so both are tried."""

    host: str = "localhost"
    port: int = DEFAULT_PORT

    @property
    def places(self) -> tuple[str, ...]:
        return _LOCALHOST if self.host == "localhost" else (self.host,)

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def of_job(value: str | None) -> RasAddress:
    """The address in NCCL_RAS_ADDR; raises ValueError with a clause that says what is wrong."""
    if not value:
        return RasAddress()
    match = _V6.fullmatch(value) or _PLAIN.fullmatch(value)
    if not match or not 0 < int(match[2]) < 65536:
        raise ValueError(f"NCCL_RAS_ADDR is {value[:80]!r}, and not HOST:PORT or [IPV6]:PORT")
    return RasAddress(host=match[1], port=int(match[2]))
