"""The configuration files that NCCL reads, as they are: parsing them is the doctor's work."""

import os
import pwd
import stat
from collections.abc import Mapping
from functools import partial

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import ConfFile, Text, all_unknown
from nccltool.hosts.sources.base import Source, Tree, within

_HOME_FILE = ".nccl.conf"
_SYSTEM = "/etc/nccl.conf"


def read(tree: Tree, env: Mapping[str, str], seconds: float) -> tuple[ConfFile, ...]:
    """Every file that NCCL could read, also those that it passes over."""
    places = _places(tree, env)
    # homes are on network file systems, which hang
    found = within(seconds, [(path, partial(_look, tree, role, path)) for role, path in places])
    return tuple(
        all_unknown(ConfFile, one.reason, role=role, path=path) if isinstance(one, Unknown) else one
        for one, (role, path) in zip(found, places, strict=True)
    )


def _places(tree: Tree, env: Mapping[str, str]) -> list[tuple[str, str]]:
    places = []
    if env.get("NCCL_CONF_FILE"):
        places.append(("NCCL_CONF_FILE", env["NCCL_CONF_FILE"]))
    home = _home(tree)
    if home:
        places.append(("home", os.path.join(home, _HOME_FILE)))
    if env.get("HOME") and env["HOME"].rstrip("/") != (home or "").rstrip("/"):
        places.append(("HOME", os.path.join(env["HOME"], _HOME_FILE)))
    return [*places, ("system", _SYSTEM)]


def _home(tree: Tree) -> str | None:
    """The home of the password database: NCCL up to 2.29 asks getpwuid, 2.32 asks $HOME. Both are looked at."""
    if tree.live:
        try:
            return pwd.getpwuid(os.getuid()).pw_dir
        except KeyError:  # a uid without an entry, as in many containers
            return None
    status, lines = tree.lines("/proc/self/status"), tree.lines("/etc/passwd")
    if isinstance(status, Unknown) or isinstance(lines, Unknown):
        return None
    uids = [line.split()[1] for line in status if line.startswith("Uid:")]
    rows = [line.split(":") for line in lines]
    return next((row[5] for row in rows if len(row) > 5 and [row[2]] == uids), None)


def _look(tree: Tree, role: str, path: str) -> ConfFile:
    # a relative path counts from the working directory of the job, which is this one only on the live host
    if not path.startswith("/") and not tree.live:
        why = f"{path} is relative to a working directory that a captured tree does not tell"
        return all_unknown(ConfFile, why, role=role, path=path)
    there = tree.exists(path)
    found = tree.stat(path) if there is not False else Unknown("it does not exist")
    if isinstance(found, Unknown):
        return all_unknown(ConfFile, found.reason, role=role, path=path, exists=there)
    return ConfFile(
        role=role,
        path=path,
        exists=True,
        text=_text(tree, path, found),
        owner_uid=found.st_uid,
        mode=stat.S_IMODE(found.st_mode),
    )


def _text(tree: Tree, path: str, found: os.stat_result) -> Text:
    """A pipe (NCCL_CONF_FILE=<(...)) is not read: what is read from it is gone."""
    return tree.exact(path) if stat.S_ISREG(found.st_mode) else Unknown(f"{path} is not a regular file")


SOURCES = (Source("conf", "conf_files", read),)
