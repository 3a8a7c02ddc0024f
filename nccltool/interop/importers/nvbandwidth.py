"""nvbandwidth measures copies inside a host, from device to device and to memory: refused with the reason."""

import re
from typing import NoReturn

from nccltool.interop.importers.base import Told, refuse

_MARK = re.compile(r'^nvbandwidth Version: v|^\s*\{\s*"nvbandwidth"\s*:', re.MULTILINE)


def recognises(content: str) -> bool:
    return _MARK.search(content) is not None


def read(content: str, where: str, told: Told) -> NoReturn:
    refuse(
        where,
        "nvbandwidth measures copies inside a host, not operations between ranks",
        "compare its matrices with each other; for links between GPUs measure nccltool probe --op send_recv",
    )
