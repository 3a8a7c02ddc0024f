"""Files that NCCL reads, that variables name, and whose presence says something about the platform."""

import os
import pwd
import stat
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeVar

import msgspec

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import ConfFile, FileFact, Text
from nccltool.hosts.facts.leaves import Flag, NotKnown, all_unknown, or_none, or_unknown, then
from nccltool.hosts.sources.base import CAPTURED, Source, Tree, within

_Part = TypeVar("_Part", bound=msgspec.Struct)
_HOME_FILE = ".nccl.conf"
VARIABLES = (
    "NCCL_CONF_FILE", "NCCL_TOPO_FILE", "NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_FILE", "NCCL_GRAPH_DUMP_FILE",
    "NCCL_DEBUG_FILE", "NCCL_TUNER_CONFIG_PATH", "NCCL_TUNER_CONFIG_FILE", "NCCL_PROFILE_EVENT_MASK_FILE",
    "NCCL_INSPECTOR_DUMP_DIR", "NCCL_SHIMNET_GUEST_CONFIG_CHECKER_CONFIG_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE",
    "TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_PIPE_FILE", "NCCL_IBVERBS_LIB",
)  # fmt: skip
WELL_KNOWN = (
    "/dev/aperture_devices", "/etc/nccl.conf", "/opt/amazon/efa", "/opt/amazon/ofi-nccl", "/opt/aws-ofi-nccl",
    "/opt/hpcx", "/opt/microsoft/ncv4/topo.xml", "/opt/microsoft/ndv2/topo.xml", "/opt/microsoft/ndv4/topo.xml",
    "/opt/microsoft/ndv5/topo.xml", "/run/tcpx", "/usr/local/gib", "/usr/local/nvidia/lib64/libnccl-net.so",
    "/var/lib/tcpxo/lib64", "/var/run/nvidia-topologyd/virtualTopology.xml",
)  # fmt: skip
_TEXT_OF = ("NCCL_TOPO_FILE", "NCCL_GRAPH_FILE")
_RELATIVE = "relative to a working directory that a captured tree does not record"
"""A relative path counts from the working directory of the job, which is this one only on the live host."""


def conf(tree: Tree, env: Mapping[str, str], seconds: float) -> tuple[ConfFile, ...]:
    """The configuration files that NCCL could read, as they are, also those that it passes over."""
    return _each(ConfFile, "role", list(_places(tree, env)), seconds, partial(_conf, tree))


def _each(
    kind: type[_Part], label: str, asked: list[tuple[str, str]], seconds: float, look: Callable[[str, str], _Part]
) -> tuple[_Part, ...]:
    """Facts of each (label, path). Each has its own deadline: homes are on network file systems, which hang."""
    found = within(seconds, [(path, or_unknown(partial(look, name, path))) for name, path in asked])
    return tuple(
        all_unknown(kind, one.reason, path=path, **{label: name}) if isinstance(one, Unknown) else one
        for one, (name, path) in zip(found, asked, strict=True)
    )


def _places(tree: Tree, env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if env.get("NCCL_CONF_FILE"):
        yield "NCCL_CONF_FILE", env["NCCL_CONF_FILE"]
    home = _home(tree)
    if home:
        yield "home", os.path.join(home, _HOME_FILE)
    if env.get("HOME") and env["HOME"].rstrip("/") != (home or "").rstrip("/"):
        yield "HOME", os.path.join(env["HOME"], _HOME_FILE)
    yield "system", "/etc/nccl.conf"


def _home(tree: Tree) -> str | None:
    """The home of the password database: NCCL up to 2.29 asks getpwuid, 2.32 asks $HOME. Both are looked at."""
    if tree.live:
        try:
            return pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:  # a uid without an entry, as in many containers
            return None
    uids = (or_none(tree.row("/proc/self/status", "Uid")) or "").split()[:1]
    rows = [line.split(":") for line in or_none(tree.lines("/etc/passwd")) or ()]
    return next((row[5] for row in rows if len(row) > 5 and [row[2]] == uids), None)


def _conf(tree: Tree, role: str, path: str) -> ConfFile:
    there, state = _looked(tree, path, f"{path} is {_RELATIVE}")
    return ConfFile(
        role=role,
        path=path,
        exists=there,
        text=then(state, partial(_text, tree, path)),
        owner_uid=then(state, lambda found: found.st_uid),
        mode=then(state, lambda found: stat.S_IMODE(found.st_mode)),
    )


def _looked(tree: Tree, path: str, relative: str) -> tuple[Flag, os.stat_result | Unknown]:
    if not path.startswith("/") and not tree.live:
        raise NotKnown(relative)
    there = tree.exists(path)
    return there, tree.stat(path) if there is not False else Unknown("does not exist")


def _text(tree: Tree, path: str, found: os.stat_result) -> Text:
    """A pipe (NCCL_CONF_FILE=<(...)) is not read: what is read from it is gone."""
    return tree.exact(path) if stat.S_ISREG(found.st_mode) else Unknown(f"{path} is not a regular file")


def named(tree: Tree, env: Mapping[str, str], seconds: float) -> tuple[FileFact, ...]:
    """Files that variables name, those of configuration files too, and well-known ones."""
    half = seconds / 2
    settings = {**dict(_set_by(conf(tree, env, half))), **env}
    asked = [(name, settings[name]) for name in VARIABLES if settings.get(name)]
    asked += [("well-known", path) for path in WELL_KNOWN]
    mounts = [(point, words[0]) for point, words in or_none(tree.mounts()) or ()]
    return _each(FileFact, "asked_by", asked, half, partial(_file, tree, mounts))


def _set_by(files: tuple[ConfFile, ...]) -> Iterator[tuple[str, str]]:
    """The lines NAME=value; of the first file that has a name, which dict() sees last."""
    for file in reversed(files):
        for line in file.text.splitlines() if isinstance(file.text, str) else ():
            name, equals, value = line.partition("=")
            if equals and not line.startswith("#"):
                yield name, value


def _file(tree: Tree, mounts: list[tuple[str, str]], asked_by: str, path: str) -> FileFact:
    there, state = _looked(tree, path, f"{_RELATIVE}")
    is_file = not isinstance(state, Unknown) and stat.S_ISREG(state.st_mode)
    return FileFact(
        path=path,
        asked_by=asked_by,
        exists=there,
        is_dir=then(state, lambda found: stat.S_ISDIR(found.st_mode)),
        readable=_may(tree, path, os.R_OK) if there is True else there,
        writable=_may(tree, path, os.W_OK) if there is True else there,
        parent_writable=_may(tree, os.path.dirname(path) or ".", os.W_OK | os.X_OK),
        fstype=_fstype(path, mounts),
        size_bytes=then(state, lambda found: found.st_size),
        text=tree.exact(path) if asked_by in _TEXT_OF and is_file else Unknown("content not recorded"),
    )


def _may(tree: Tree, path: str, mode: int) -> Flag:
    if not tree.live:
        return Unknown(CAPTURED)
    try:
        return os.access(path, mode)
    except ValueError:  # a NUL inside
        return False


def _fstype(path: str, mounts: list[tuple[str, str]]) -> Text:
    """Of the longest mount point above the path, the last mount there: nothing is opened, so nothing hangs."""
    full = os.path.normpath(os.path.join(os.getcwd(), path))
    above = [mount for mount in reversed(mounts) if f"{full}/".startswith(f"{mount[0].rstrip('/')}/")]
    if not above:
        return Unknown("not found in /proc/self/mountinfo")
    return max(above, key=lambda mount: len(mount[0]))[1]


SOURCES = (Source("conf", "conf_files", conf), Source("paths", "files", named))
