"""A program: random hosts, files and variables, answered by a libnccl and by nccltool. Prints the differences.

    python -m tests.hosts.nccl.library_world LIBRARY HOSTS CASES SEED

It needs root: it moves into namespaces of its own, where it may make interfaces and write /etc/nccl.conf.
"""

import ctypes
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nccltool.core.versions import Version, of_code
from nccltool.hosts.facts import HostFacts, Network, NotKnown
from nccltool.hosts.nccl import interfaces as nccl_interfaces
from nccltool.hosts.nccl import library as nccl_library
from nccltool.hosts.nccl import settings
from nccltool.hosts.sources import files, interfaces
from nccltool.hosts.sources.base import Tree

_NEW_NET, _NEW_MOUNTS = 0x40000000, 0x00020000
_PRIVATE, _BIND = 0x40000 | 0x4000, 0x1000
_LIVE = Tree()
_C = ctypes.CDLL(None, use_errno=True)
_NAMES = (
    *("eth0", "eth1", "eth10", "eth", "ens3", "enp5s0", "ib0", "ibs3", "bond0", "docker0", "docker_gw", "virbr0"),
    *("br-1a2b", "veth7", "lo1", "e", "wlan0", "rdma0", "x.100", "gpu0"),
)


def main() -> None:
    library, hosts, cases, seed = ctypes.CDLL(sys.argv[1]), *(int(word) for word in sys.argv[2:5])
    version = ctypes.c_int()
    library.ncclGetVersion(ctypes.byref(version))
    _isolate()
    done, different = 0, []
    for number in range(hosts):
        for result in _in_child(partial(_host, library, of_code(version.value), cases, seed + number)):
            done += 1
            if result is not None:
                different.append(result)
    print(json.dumps({"done": done, "different": different}))


def _isolate() -> None:
    """Mounts of our own, with a copy of /etc that may be written."""
    _check(_C.unshare(_NEW_MOUNTS), "unshare")
    _check(_C.mount(b"none", b"/", None, _PRIVATE, None), "mount private")
    etc = Path(tempfile.mkdtemp(prefix="nccltool-etc"))
    for name in ("passwd", "hosts", "nsswitch.conf", "ld.so.cache"):
        if Path("/etc", name).exists():
            (etc / name).write_bytes(Path("/etc", name).read_bytes())
    home = etc / "home"
    home.mkdir()
    (etc / "passwd").write_text("root:x:0:0:root:/etc/home:/bin/sh\n")
    (etc / "nsswitch.conf").write_text("passwd: files\nhosts: files\n")
    _check(_C.mount(str(etc).encode(), b"/etc", None, _BIND, None), "mount /etc")


def _check(result: int, what: str) -> None:
    if result:
        raise OSError(ctypes.get_errno(), what)


def _in_child(work: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    """What a generator gives, run in a child process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        with os.fdopen(writing, "w") as said:
            for one in work():
                said.write(json.dumps(one) + "\n")
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as lines:
        yield from map(json.loads, lines)
    os.waitpid(child, 0)


def _host(library: ctypes.CDLL, version: Version, cases: int, seed: int) -> Iterator[Any]:
    dice = random.Random(seed)
    _check(_C.unshare(_NEW_NET), "unshare")
    _check(_C.mount(b"sysfs", b"/sys", b"sysfs", 0, None), "mount /sys")
    _make_interfaces(dice)
    network = interfaces.read(_LIVE)
    for _ in range(cases):
        yield _case(library, version, network, dice)


def _make_interfaces(dice: random.Random) -> None:
    lines = ["link set lo up"] if dice.random() < 0.9 else []
    for number, name in enumerate(dice.sample(_NAMES, dice.randint(0, 7))):
        peer = f"p{number}"
        lines.append(f"link add {name} type veth peer name {peer}")
        lines.append(f"link set {peer} addrgenmode none")
        if dice.random() < 0.6:
            lines.append(f"link set {name} addrgenmode none")
        if dice.random() < 0.8:  # else it is up, but does not run
            lines.append(f"link set {peer} up")
        lines.append(f"link set {name} up")
        if dice.random() < 0.8:
            label = f" label {name}:1" if dice.random() < 0.1 else ""
            address = f"10.{number}.{dice.randint(0, 3)}.{dice.randint(1, 9)}/{dice.choice((16, 24))}"
            lines.append(f"addr add {address} dev {name}{label}")
        if dice.random() < 0.2:
            lines.append(f"addr add 10.7{number}.0.1/24 dev {name}")
        if dice.random() < 0.3:
            lines.append(f"addr add fd77:{number}::1/64 dev {name} nodad")
    subprocess.run(
        ["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True, capture_output=True
    )


def _case(library: ctypes.CDLL, version: Version, network: Network, dice: random.Random) -> Any:
    environment = _environment(dice)
    _write_files(dice, long_names=version >= settings.CONF_FILE)
    said = _ask(library, environment)
    log = said.pop("log")
    answer = nccl_library.answer(said, log)
    host = HostFacts(host="n1", env=environment, conf_files=files.conf(_LIVE, environment, 5.0))
    ours = settings.of(host, version)
    theirs = {name: value for name, value in said["environment"] if name not in nccl_library.OVERRIDDEN}
    mine = {name: one.value for name, one in ours.variables.items()}
    if mine != theirs:
        return {"environment": environment, "ours": mine, "theirs": theirs, "files": _files()}
    if dict(answer.environment) != {name: value for name, value in theirs.items() if name.startswith("NCCL_")}:
        return {"answer": answer.environment, "theirs": theirs}
    try:
        choice = nccl_interfaces.bootstrap(ours, network, _resolve)
    except NotKnown as why:
        return {"environment": theirs, "not known": str(why)} if "no IPv6 address" not in str(why) else None
    chosen = choice.bootstrap
    if (chosen and (chosen.name, chosen.address)) != (
        (answer.interface, answer.address) if answer.interface else None
    ):
        return {
            "environment": theirs,
            "ours": str(choice),
            "theirs": [answer.code, answer.error, answer.interface, answer.address],
            "addresses": [str(one) for one in network.addresses],  # type: ignore[union-attr]
        }
    return None


def _resolve(host: str) -> tuple[str, ...]:
    try:
        return (str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0]),)
    except (OSError, UnicodeError):
        return ()


def _ask(library: ctypes.CDLL, environment: Mapping[str, str]) -> dict[str, Any]:
    """What NCCL says in a process with this environment."""
    log, said = os.memfd_create("log"), os.memfd_create("said")
    child = os.fork()
    if child == 0:
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.environ.clear()
        os.environ.update({**environment, **nccl_library.OVERRIDDEN})
        os.write(said, json.dumps(nccl_library.question(library)).encode())
        os._exit(0)
    _, status = os.waitpid(child, 0)
    texts = [os.pread(one, 1 << 22, 0).decode(errors="replace") for one in (log, said)]
    os.close(log)
    os.close(said)
    assert status == 0, (status, environment, texts[0][-500:])
    return {**json.loads(texts[1]), "log": texts[0]}


def _environment(dice: random.Random) -> dict[str, str]:
    chosen = {"PATH": "/usr/bin", "HOME": dice.choice(("/etc/home", "/etc/other", "/nowhere"))}
    if dice.random() < 0.7:
        chosen["NCCL_SOCKET_IFNAME"] = names(dice)
    if dice.random() < 0.2:
        chosen["NCCL_SOCKET_FAMILY"] = dice.choice(("AF_INET", "AF_INET6", "AF_INET ", "inet", ""))
    if dice.random() < 0.15:
        chosen["NCCL_COMM_ID"] = dice.choice(_COMM_IDS)
    if dice.random() < 0.3:
        chosen["NCCL_CONF_FILE"] = dice.choice(("/etc/site.conf", "/etc/gone.conf", "", "/etc"))
    return chosen


_COMM_IDS = (
    *(
        "10.0.1.1:2900",
        "10.1.2.3",
        "127.0.0.1:0",
        "10.0.0",
        "0x0a000001:1",
        "[fd77:1::9]:80",
        "[fd77:1::9",
        "",
        "x",
    ),
    *("localhost:1", "nohost.invalid:1", ",10.2.0.1:1", ":", ",,", "[::1]:1", "10.1.1.1:1,10.2.1.1:1"),
)


def names(dice: random.Random) -> str:
    """A value for NCCL_SOCKET_IFNAME: reasonable ones, slips, and junk."""
    words: Sequence[str] = [
        *_NAMES,
        "eth1",
        "ib",
        "en",
        "lo",
        "docker",
        "virbr",
        "nosuch",
        "=eth0",
        "^eth",
        " eth0",
    ]
    words = [
        *words,
        '"eth0"',
        "eth0 ",
        "eth0:1",
        "eth1:2:3:4",
        ":1",
        "",
        "ETH0",
        "*",
        "eth*",
        "lo:",
        "e" * 70,
        "\u00e9",
    ]
    text = ",".join(dice.choice(words) for _ in range(dice.choice((0, 1, 1, 1, 2, 2, 3, 5, 20))))
    return dice.choice(("", "", "", "^", "=", "^=", "=^", "^^")) + text


def _write_files(dice: random.Random, long_names: bool) -> None:
    Path("/etc/other").mkdir(exist_ok=True)
    for name in _PATHS:
        file = Path(name)
        file.unlink(missing_ok=True)
        if dice.random() < 0.5:
            file.write_bytes(content(dice, long_names))


_PATHS = ("/etc/nccl.conf", "/etc/home/.nccl.conf", "/etc/other/.nccl.conf", "/etc/site.conf")


def _files() -> dict[str, str]:
    return {name: repr(Path(name).read_bytes()[:300]) for name in _PATHS if Path(name).exists()}


def content(dice: random.Random, long_names: bool = True) -> bytes:
    """A configuration file: what people write, what they slip in, and junk."""
    pieces = []
    for _ in range(dice.choice((0, 1, 2, 3, 6))):
        key = dice.choice(
            (b"NCCL_SOCKET_IFNAME", b"NCCL_SOCKET_FAMILY", b"NCCL_X", b"NCCL_IB_HCA", b"NCCL_COMM_ID")
        )
        value = dice.choice((names(dice).encode(), b"1", b"", b"'a b'", b"x # y", b"a=b", b"AF_INET", b"v" * 1500))
        if key == b"NCCL_COMM_ID":
            value = dice.choice(_COMM_IDS).encode()
        line = dice.choice((
            *(key + b"=" + value, key + b"=" + value, key + b"=" + value, key, b"", b"=" + value, b"#" + key),
            *(b"#" + key + b"=1", key + b" = " + value, b" " + key + b"=" + value, b"export " + key + b"=1"),
            *(key.lower() + b"=" + value, key + b"=\0" + value, b"\xef\xbb\xbf" + key + b"=1"),
            # before 2.23.4 a long name overwrites NCCL's own memory
            *((b"k" * 1100 + b"=" + value, b"z" * 4090 + key + b"=" + value) if long_names else ()),
        ))  # fmt: skip
        pieces.append(line + dice.choice((b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"\r", b"")))
    return b"".join(pieces)


if __name__ == "__main__":
    main()
