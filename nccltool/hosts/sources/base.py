"""What every source of facts stands on: a root, readers that say why there is no value, and a deadline."""

import ctypes
import ipaddress
import os
import re
import socket
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TypeVar

from nccltool.core.text import whole
from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Address, Text
from nccltool.hosts.facts.leaves import Count, Flag, NotKnown, Texts, known, or_unknown, then

T = TypeVar("T")
_Rows = Mapping[str, str]

LARGEST = 1 << 20
"""No file of interest is larger; what follows is not read."""
CAPTURED = "not in a captured tree"
_DEEPEST = 40
"""Symbolic links that the kernel follows in one look-up."""


@dataclass(frozen=True, slots=True)
class Tree:
    """The host's files: the live ones, or a captured copy of them under another folder."""

    root: str = ""
    """'' for the live host."""

    @classmethod
    def at(cls, folder: Path) -> "Tree":
        """The tree under a folder; `/` is the live host."""
        name = str(folder.absolute())
        return cls("" if name == "/" else name.rstrip("/"))

    @property
    def live(self) -> bool:
        """These are the files of this host, not a copy."""
        return not self.root

    def raw(self, path: str) -> bytes | Unknown:
        """The bytes of a file, up to LARGEST; a pipe or a device is not opened."""
        try:
            handle = os.open(self.root + path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
            try:
                is_file = stat.S_ISREG(os.fstat(handle).st_mode)
                return _all_of(handle) if is_file else Unknown(f"{path} is not a file")
            finally:
                os.close(handle)
        except (OSError, ValueError) as error:
            return self.why(path, error)

    def exact(self, path: str) -> Text:
        """The text of a file as it is; a byte that is not UTF-8 is written \\xNN."""
        return then(self.raw(path), lambda raw: raw.decode(errors="backslashreplace"))

    def text(self, path: str) -> Text:
        """The text of a file without white space around it."""
        return then(self.exact(path), lambda text: text.strip().strip("\0"))

    def number(self, path: str, base: int = 10) -> Count:
        text = self.text(path)
        try:
            return then(text, lambda digits: int(digits, base))
        except ValueError:
            return Unknown(f"{path} contains {known(text)[:40]!r}, not a number")

    def lines(self, path: str) -> Texts:
        """The lines of a file, without those that are empty."""
        return then(self.exact(path), lambda text: tuple(line for line in text.splitlines() if line.strip()))

    @or_unknown
    def rows(self, path: str, separator: str = ":") -> _Rows:
        """The lines `name: value` of a file, in its order."""
        rows = (line.partition(separator) for line in known(self.lines(path)))
        return {name.strip(): value.strip() for name, _, value in rows}

    @or_unknown
    def row(self, path: str, name: str, separator: str = ":") -> str:
        if value := known(self.rows(path, separator)).get(name):
            return value
        raise NotKnown(f"{path} has no {name}")

    @or_unknown
    def meminfo(self, name: str, factor: int = 1024) -> int:
        """A row of /proc/meminfo; most are in kilobytes."""
        word = known(self.row("/proc/meminfo", name)).split()[0]
        if (number := whole(word)) is None:
            raise NotKnown(f"/proc/meminfo has no {name}")
        return number * factor

    @or_unknown
    def mounts(self) -> tuple[tuple[str, list[str]], ...]:
        """(mount point, [type, source, options]) of what this process has mounted."""
        halves = (line.partition(" - ") for line in known(self.lines("/proc/self/mountinfo")))
        rows = ((left.split(), right.split()) for left, _, right in halves)
        return tuple((left[4], right) for left, right in rows if len(left) > 4 and right)

    def names(self, path: str, *, absent: Texts | None = None) -> Texts:
        """The entries of a folder in natural order; `absent` stands for a folder that does not exist."""
        try:
            return tuple(sorted(os.listdir(self.root + path), key=natural))
        except FileNotFoundError as error:
            return absent if absent is not None and self._tells(path) else self.why(path, error)
        except (OSError, ValueError) as error:
            return self.why(path, error)

    def link(self, path: str) -> Text:
        return self._asked(path, os.readlink)

    def link_name(self, path: str) -> Text:
        """The last part of what a symbolic link points to."""
        return then(self.link(path), lambda target: target.rstrip("/").rpartition("/")[2])

    def pci_address(self, folder: str) -> Text:
        """The PCI function of an interface or adapter; that of the virtio device's parent is not followed."""
        name = self.link_name(f"{folder}/device")
        return then(name, lambda word: word if word.count(":") == 2 else Unknown(f"{word} is not a PCI device"))

    def exists(self, path: str) -> Flag:
        """Whether there is something behind a path."""
        try:
            os.stat(self.root + path)
        except (FileNotFoundError, NotADirectoryError) as error:
            return False if self._tells(path) else self.why(path, error)
        except (OSError, ValueError) as error:
            return self.why(path, error)
        return True

    def _tells(self, path: str) -> bool:
        """Whether what is not there was not there: of a part that nobody captured, nothing is known."""
        if self.live:
            return True
        top = path.split("/")[1] if path.startswith("/") else ""
        return self._holds(top) if top in ("proc", "sys") else any(map(self._holds, self._names("")))

    def _holds(self, name: str) -> bool:
        return os.path.isfile(f"{self.root}/{name}") or bool(self._names(name))

    def _names(self, folder: str) -> Sequence[str]:
        try:
            return os.listdir(f"{self.root}/{folder}")
        except OSError:  # a link to what was not captured, for example
            return ()

    def stat(self, path: str) -> os.stat_result | Unknown:
        """The state of what is behind a path."""
        return self._asked(path, os.stat)

    def real(self, path: str) -> Text:
        """The path behind all symbolic links; an absolute link stays under the root."""
        if self.live:
            return self._asked(path, partial(os.path.realpath, strict=True))
        for _ in range(_DEEPEST):
            target = self.link(path)
            if isinstance(target, Unknown):
                return path if self.exists(path) is True else self.why(path, FileNotFoundError(2, "No such file"))
            path = os.path.normpath(os.path.join(os.path.dirname(path), target))
        return Unknown(f"{path} is a symbolic link loop")

    def _asked(self, path: str, ask: Callable[[str], T]) -> T | Unknown:
        try:
            return ask(self.root + path)
        except (OSError, ValueError) as error:
            return self.why(path, error)

    @staticmethod
    def why(path: str, error: OSError | ValueError) -> Unknown:
        """The reason for a file that cannot be read."""
        return Unknown(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")


def _all_of(handle: int) -> bytes:
    """sysfs gives all at once; others may take several reads."""
    parts = [os.read(handle, 65536)]
    while parts[-1] and sum(map(len, parts)) < LARGEST:
        parts.append(os.read(handle, 65536))
    return b"".join(parts)[:LARGEST]


@dataclass(frozen=True, slots=True)
class Source:
    """Something to look at: each module here names its own in SOURCES."""

    name: str
    part: str
    """The field of HostFacts that it gives, or some leaves of it."""
    read: Callable[[Tree, Mapping[str, str], float], object]
    """From the files, the environment and the seconds that it may take."""

    @classmethod
    def quick(cls, name: str, part: str, read: Callable[[Tree], object]) -> "Source":
        """One that waits for nothing, and asks files only."""
        return cls(name, part, lambda tree, env, seconds: read(tree))


def natural(name: str) -> tuple[tuple[str, int], ...]:
    """mlx5_2 comes before mlx5_10."""
    return tuple((word, int(number or 0)) for word, number in _PIECES.findall(name))


_PIECES = re.compile(r"(\D*)(\d{0,18})")


def within(seconds: float, reads: Sequence[tuple[str, Callable[[], T]]]) -> list[T | Unknown]:
    """What each of the named reads returns, all at once; Unknown for those that take longer.

    Their threads are left behind: only in a process that may be killed with threads that hang in the kernel.
    """
    end = time.monotonic() + seconds
    answers: list[T | Unknown] = [Unknown(f"{what} did not answer within {seconds:g} s") for what, _ in reads]

    def ask(place: int, read: Callable[[], T]) -> None:
        answers[place] = read()

    threads = [Thread(target=ask, args=(place, read), daemon=True) for place, (_, read) in enumerate(reads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, end - time.monotonic()))
    return list(answers)


class _Sockaddr(ctypes.Structure):
    _fields_ = (("family", ctypes.c_uint16), ("data", ctypes.c_ubyte * 26))


class _Ifaddrs(ctypes.Structure):
    pass


_Ifaddrs._fields_ = (
    ("next", ctypes.POINTER(_Ifaddrs)),
    ("name", ctypes.c_char_p),
    ("flags", ctypes.c_uint),
    ("address", ctypes.POINTER(_Sockaddr)),
    ("netmask", ctypes.POINTER(_Sockaddr)),
    ("other", ctypes.POINTER(_Sockaddr)),
    ("data", ctypes.c_void_p),
)
_Row = tuple[str, int, Address | None]


def getifaddrs() -> list[_Row] | Unknown:
    """(name, flags, address) in the C library's order, which NCCL sees too; address None = the link."""
    library = ctypes.CDLL(None, use_errno=True)
    first = ctypes.POINTER(_Ifaddrs)()
    if library.getifaddrs(ctypes.byref(first)) != 0:
        return Unknown(f"getifaddrs failed: {os.strerror(ctypes.get_errno())}")
    try:
        return list(_rows(first))
    finally:
        library.freeifaddrs(first)


def _rows(entry: "ctypes._Pointer[_Ifaddrs]") -> Iterator[_Row]:
    while entry:
        one = entry.contents
        name, family = os.fsdecode(one.name), one.address.contents.family if one.address else None
        if family == socket.AF_PACKET:
            yield name, one.flags, None
        elif family in (socket.AF_INET, socket.AF_INET6):
            yield name, one.flags, _address(name, family, one)
        entry = one.next


def _address(name: str, family: int, one: _Ifaddrs) -> Address:
    start, size = (2, 4) if family == socket.AF_INET else (6, 16)  # after the port; and the flow label
    raw = bytes(one.address.contents.data[start : start + size])
    mask = bytes(one.netmask.contents.data[start : start + size]) if one.netmask else None
    return Address(
        interface=name,
        address=str(ipaddress.ip_address(raw)),
        prefix_len=Unknown("getifaddrs returns no netmask") if mask is None else int.from_bytes(mask).bit_count(),
        family="AF_INET" if family == socket.AF_INET else "AF_INET6",
    )
