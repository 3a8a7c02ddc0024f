"""The NVIDIA driver and its GPUs out of /proc/driver/nvidia: no library is asked."""

import os
import re
from collections.abc import Iterator, Mapping

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Count, Gpu, Nvidia, Setting, Text, Texts, all_unknown
from nccltool.hosts.sources.base import CAPTURED, Source, Tree

_DRIVER = "/proc/driver/nvidia"
_PEERS = "/sys/kernel/mm/memory_peers"
_CHANNELS = "/dev/nvidia-caps-imex-channels"


def read(tree: Tree, env: Mapping[str, str]) -> Nvidia:
    """Driver, parameters, GPUs, and who may reach their memory."""
    del env
    driver, flavour = _version(tree)
    return Nvidia(
        driver=driver,
        flavour=flavour,
        params=_params(tree) if driver else (),
        gpus=_gpus(tree) if driver else (),
        memory_peers=tree.names(_PEERS, absent=()),
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


def _params(tree: Tree) -> tuple[Setting, ...] | Unknown:
    lines = tree.lines(f"{_DRIVER}/params")
    if isinstance(lines, Unknown):
        return lines
    pairs = [line.partition(":") for line in lines]
    return tuple(Setting(name=name.strip(), value=value.strip().strip('"')) for name, _, value in pairs)


def _gpus(tree: Tree) -> tuple[Gpu, ...] | Unknown:
    names = tree.names(f"{_DRIVER}/gpus")
    if isinstance(names, Unknown):
        return names
    return tuple(_gpu(tree, name) for name in names)


def _gpu(tree: Tree, address: str) -> Gpu:
    lines = tree.lines(f"{_DRIVER}/gpus/{address}/information")
    if isinstance(lines, Unknown):
        return all_unknown(Gpu, lines.reason, pci=address)
    rows = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return all_unknown(
        Gpu,
        "only NVML tells",
        pci=address,
        minor=_integer(rows.get("Device Minor")),
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


def _integer(text: str | None) -> Count:
    return int(text) if text and text.isdigit() else Unknown(f"{_DRIVER}/gpus names no Device Minor")


def _channels(tree: Tree) -> Texts:
    names = tree.names(_CHANNELS, absent=())
    if isinstance(names, Unknown):
        return names
    if names and not tree.live:
        return Unknown(CAPTURED)
    return tuple(_usable(names))


def _usable(names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        if os.access(f"{_CHANNELS}/{name}", os.R_OK | os.W_OK):
            yield f"{_CHANNELS}/{name}"


SOURCES = (Source.quick("nvidia", "nvidia", read),)
