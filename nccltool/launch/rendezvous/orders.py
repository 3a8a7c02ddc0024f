"""From the words of `nccltool rendezvous` to a trial of each form."""

import socket
from collections.abc import Mapping
from pathlib import Path

from nccltool.core.errors import BadInput
from nccltool.core.text import shortened, whole
from nccltool.launch.inside import parse_endpoint
from nccltool.launch.rendezvous.trial import FORMS, RankOrder

_MOST_RANKS = 64
"""Each imports torch on this host."""


def orders(
    nproc: str | None,
    endpoint: str | None,
    file: str | None,
    timeout_s: float,
    env: Mapping[str, str],
    scratch: Path,
) -> list[RankOrder]:
    """Without an address, that of MASTER_ADDR and MASTER_PORT, else a free port of this host. Raises BadInput."""
    ranks = 2 if nproc in (None, "auto") else whole(nproc or "")
    if ranks is None or not 2 <= ranks <= _MOST_RANKS:
        said = shortened(nproc or "", 40)
        raise BadInput(
            f"--nproc-per-node {said}: expected a number from 2 to {_MOST_RANKS}", "for example --nproc-per-node 2"
        )
    if not endpoint and "MASTER_ADDR" in env:
        host = env["MASTER_ADDR"]
        endpoint = f"[{host}]:" if ":" in host else f"{host}:"
        endpoint += env.get("MASTER_PORT", "29500")
    place = Path(file).absolute() if file else scratch / "store"
    made = []
    for form in FORMS:
        host, port = parse_endpoint(endpoint) if endpoint else ("127.0.0.1", _free_port())
        made.append(
            RankOrder(form=form, host=host, port=port, file=str(place), rank=0, ranks=ranks, timeout_s=timeout_s)
        )
    return made


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
