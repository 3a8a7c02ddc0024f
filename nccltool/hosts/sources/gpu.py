"""GPUs of this host without CUDA and NVML: device files, and what /proc/driver/nvidia says of the driver.

A process that has used CUDA cannot fork ranks that use it.
"""

import os
import re
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Gpu, Nvidia, Setting, Text
from nccltool.hosts.facts.leaves import NotKnown, all_unknown, known, or_unknown
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

_DRIVER = "/proc/driver/nvidia"
_CHANNELS = "/dev/nvidia-caps-imex-channels"


def count(env: Mapping[str, str] = os.environ, root: Path = Path("/")) -> int:
    """NVIDIA GPUs that a rank started here would see.

    The devices are /dev/nvidiaN, which is also what a container was given. Of CUDA_VISIBLE_DEVICES, CUDA
    ignores the first word that is not a device and all that follow.
    """
    visible = env.get("CUDA_VISIBLE_DEVICES")
    present = len(list((root / "dev").glob("nvidia[0-9]*")))
    if visible is None:
        return present
    named = takewhile(lambda word: word.strip() not in ("", "-1", "NoDevFiles"), visible.split(","))
    return min(len(list(named)), present)


def nvidia(tree: Tree) -> Nvidia:
    """Driver, parameters, GPUs, and who may reach their memory."""
    driver, flavour = _version(tree)
    return Nvidia(
        driver=driver,
        flavour=flavour,
        params=_params(tree) if driver else (),
        gpus=_gpus(tree) if driver else (),
        memory_peers=tree.names("/sys/kernel/mm/memory_peers", absent=()),
        imex_channels=_channels(tree),
        source=_DRIVER,
    )


def _version(tree: Tree) -> tuple[Text, Text]:
    """(570.124.06, open or proprietary); '' when no driver is loaded."""
    text = tree.text(f"{_DRIVER}/version")
    if isinstance(text, Unknown):
        above = tree.exists("/proc/self/status")
        gone = above is True and tree.exists(_DRIVER) is False
        return ("", "") if gone else (text, text)
    # NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.124.06  Release Build  (...)
    match = re.search(r"NVIDIA UNIX\b.*?Kernel Module\b.*?\s(\d+(?:\.\d+)+)", text)
    if match is None:
        why = Unknown(f"{_DRIVER}/version has another form: {text[:80]!r}")
        return why, why
    return match[1], "open" if "Open Kernel Module" in text else "proprietary"


@or_unknown
def _params(tree: Tree) -> tuple[Setting, ...]:
    rows = (line.partition(":") for line in known(tree.lines(f"{_DRIVER}/params")))
    return tuple(Setting(name=name.strip(), value=value.strip().strip('"')) for name, _, value in rows)


@or_unknown
def _gpus(tree: Tree) -> tuple[Gpu, ...]:
    return tuple(_gpu(tree, address) for address in known(tree.names(f"{_DRIVER}/gpus")))


def _gpu(tree: Tree, address: str) -> Gpu:
    rows = tree.rows(f"{_DRIVER}/gpus/{address}/information")
    if isinstance(rows, Unknown):
        return all_unknown(Gpu, rows.reason, pci=address)
    minor = rows.get("Device Minor", "")
    return all_unknown(
        Gpu,
        "only NVML tells",
        pci=address,
        minor=int(minor) if minor.isdigit() else Unknown(f"{_DRIVER}/gpus names no Device Minor"),
        uuid=_told(rows, "GPU UUID"),
        name=_told(rows, "Model"),
        vbios=_told(rows, "Video BIOS"),
        gsp_firmware=_told(rows, "GPU Firmware"),
        numa_node=tree.number(f"/sys/bus/pci/devices/{address}/numa_node"),
    )


def _told(rows: Mapping[str, str], name: str) -> Text:
    """The driver writes question marks for what it has not asked the GPU yet."""
    value = rows.get(name, "")
    return value if value and "??" not in value and value != "N/A" else Unknown(f"{_DRIVER}/gpus names no {name}")


@or_unknown
def _channels(tree: Tree) -> tuple[str, ...]:
    paths = [f"{_CHANNELS}/{name}" for name in known(tree.names(_CHANNELS, absent=()))]
    if paths and not tree.live:
        raise NotKnown(CAPTURED)
    return tuple(path for path in paths if os.access(path, os.R_OK | os.W_OK))


SOURCES = (
    Source("gpu", "nvidia", lambda tree, env, seconds: Nvidia(visible_gpus=count(env, Path(tree.root or "/")))),
    Source.quick("nvidia", "nvidia", nvidia),
)
