"""LOOK at everything of a host at once -> HostFacts. What hangs costs its deadline and becomes Unknown.

A child process looks, one thread a source, and hands over each part as it is ready. What hangs inside the kernel
hangs there: this process neither waits for it nor dies with it.
"""

import fcntl
import os
import select
import signal
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import msgspec

from nccltool.core import processes, signals
from nccltool.core.unknown import Unknown
from nccltool.hosts import sources as hosts_sources
from nccltool.hosts.facts import NOT_READ, HostFacts, HostNames, Text
from nccltool.hosts.facts.leaves import all_unknown
from nccltool.hosts.sources import env as environment
from nccltool.hosts.sources.base import Source, Tree

SECONDS = 5.0
"""The deadline of a snapshot."""
_INNER = 0.4
"""Share of it that one wait inside a source gets; no source has more than two in a row."""
_Env = Mapping[str, str]
SOURCES = hosts_sources.every()
_OF_THE_NETWORK = ("conf", "interfaces", "rdma", "plugins", "pci", "cloud", "nvidia", "amd")
_OF_THE_FABRIC = "nvml"
_TYPES = {one.name: one.type for one in msgspec.structs.fields(HostFacts)}


def take(
    root: Path = Path("/"),
    environ: Mapping[str, str] | None = None,
    seconds: float = SECONDS,
    env_source: str = "process",
    sources: tuple[Source, ...] = SOURCES,
    meanwhile: Callable[[], object] = lambda: None,
) -> HostFacts:
    """A snapshot of this host, or of a captured tree. `environ` None: of this process, or the tree's own.

    `meanwhile` is called once while the child looks: what the caller has to do anyway costs no time then.
    """
    started = time.monotonic()
    tree = Tree.at(root)
    env, source = _environment(tree, environ, env_source)
    sources = (*sources, environment.source(source))
    facts: dict[str, Any] = {}
    for number, said in sorted(_collect(tree, env, seconds, sources, meanwhile), key=itemgetter(0)):
        part = sources[number].part
        facts[part] = _merged(facts.get(part), said)
    names = facts.get("names", HostNames())
    return HostFacts(
        host=_host(tree, names.hostname),
        root=tree.root or "/",
        taken=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        seconds=round(time.monotonic() - started, 3),
        env=env,
        env_source=source,
        **facts,
    )


def network_facts(
    environ: Mapping[str, str],
    root: Path = Path("/"),
    seconds: float = 1.0,
    fabric_s: float = 0.0,
    sources: tuple[Source, ...] = SOURCES,
) -> HostFacts:
    """What decides which network NCCL takes, read in this process: a rank that has a GPU must not fork.

    `fabric_s`: how long NVML may take, which alone knows of NVLink between hosts and may hang; 0 = not asked.
    """
    tree, env = Tree.at(root), environment.chosen(environ)
    parts: dict[str, Any] = {}
    for one in sources:
        if one.name in _OF_THE_NETWORK:
            parts[one.part] = _merged(parts.get(one.part), _said(one, tree, env, seconds))
        elif fabric_s and one.name == _OF_THE_FABRIC:
            parts[one.part] = _merged(parts.get(one.part), _said_in_time(one, tree, env, fabric_s))
    return HostFacts(host=_host(tree, NOT_READ), env=env, **parts)


def settings_facts(environ: Mapping[str, str], root: Path = Path("/"), seconds: float = 1.0) -> HostFacts:
    """What decides NCCL's settings, read in this process as well."""
    tree, env = Tree.at(root), environment.chosen(environ)
    parts = {one.part: _said(one, tree, env, seconds) for one in SOURCES if one.name == "conf"}
    return HostFacts(host=_host(tree, NOT_READ), env=env, **parts)


def _environment(tree: Tree, environ: Mapping[str, str] | None, source: str) -> tuple[dict[str, str], str]:
    if environ is not None:
        return environment.chosen(environ), source
    if tree.live:
        return environment.chosen(os.environ), source
    found = environment.of_process(tree, "self")
    return ({}, f"none: {found.reason}") if isinstance(found, Unknown) else (found, "/proc/self/environ")


def _host(tree: Tree, hostname: Text) -> str:
    if isinstance(hostname, str):
        return hostname
    return os.uname().nodename if tree.live else tree.root.rpartition("/")[2]


def _merged(old: Any, new: Any) -> Any:
    """Leaves of two sources in one part: a value beats a reason, a reason beats what nobody looked at.

    Of two values it is that of the later source, however long each took.
    """
    if old is None or not isinstance(new, msgspec.Struct) or isinstance(new, Unknown):
        return new
    changes = {}
    for one in msgspec.structs.fields(new):
        value, before = getattr(new, one.name), getattr(old, one.name)
        if value == one.default or (isinstance(value, Unknown) and not isinstance(before, Unknown)):
            continue
        changes[one.name] = value
    return msgspec.structs.replace(old, **changes)


def _collect(
    tree: Tree, env: _Env, seconds: float, sources: tuple[Source, ...], meanwhile: Callable[[], object]
) -> Iterator[tuple[int, Any]]:
    """(number of the source, what it says) of each source, those that did not answer last."""
    end = time.monotonic() + seconds
    reading, writing = _pipe()
    child = _forked(lambda: _look(writing, tree, env, seconds * _INNER, sources), reading)
    os.close(writing)
    waiting = set(range(len(sources)))
    try:
        meanwhile()
        for number, said in _lines(reading, end):
            waiting.discard(number)
            yield number, msgspec.json.decode(said, type=_TYPES[sources[number].part])
            if not waiting:
                break
    finally:
        os.close(reading)
        _end(child)
    for number in sorted(waiting):
        why = f"reading {sources[number].name} took longer than {seconds:g} s"
        if time.monotonic() < end:
            why = f"the process that read {sources[number].name} exited early"
        yield number, _nothing(sources[number].part, why)


def _pipe() -> tuple[int, int]:
    """Ends above 2: where standard streams are closed, the numbers of these are free, and the child takes them."""
    ends = os.pipe()
    above = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 3) for end in ends]
    for end in ends:
        os.close(end)
    return above[0], above[1]


def _forked(work: Callable[[], None], reading: int) -> int:
    parent = os.getpid()
    with warnings.catch_warnings():
        # since 3.12 Python warns of forks beside threads: this child takes no lock that they could hold
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child:
        return child
    status = 1
    try:
        for number in (*signals.ENDING, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        processes.die_with_parent(parent)
        os.close(reading)
        for stream in range(3):  # whoever reads our output does not wait for a child that hangs
            os.dup2(os.open(os.devnull, os.O_RDWR), stream)
        work()
        status = 0
    finally:
        os._exit(status)  # no handler, no buffer, no exception of the parent's is run twice


def _look(writing: int, tree: Tree, env: _Env, seconds: float, sources: tuple[Source, ...]) -> None:
    lock = Lock()

    def work(number: int, source: Source) -> None:
        line = b"%d %s\n" % (number, msgspec.json.encode(_said(source, tree, env, seconds)))
        with lock:
            while line:
                line = line[os.write(writing, line) :]

    threads = [Thread(target=work, args=pair, daemon=True) for pair in enumerate(sources)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _said(source: Source, tree: Tree, env: _Env, seconds: float) -> Any:
    try:
        return source.read(tree, env, seconds)
    except Exception as error:  # noqa: BLE001 - junk in one file costs one source, not the snapshot
        return _nothing(source.part, f"cannot parse {source.name}: {type(error).__name__}: {error}")


def _said_in_time(source: Source, tree: Tree, env: _Env, seconds: float) -> Any:
    """What it says, or that it took too long: its thread is left behind then."""
    said: list[Any] = []
    thread = Thread(target=lambda: said.append(_said(source, tree, env, seconds)), daemon=True)
    thread.start()
    thread.join(seconds)
    return said[0] if said else _nothing(source.part, f"reading {source.name} took longer than {seconds:g} s")


def _nothing(part: str, why: str) -> Any:
    """The part when nothing is known of it. What is told file by file has its own deadlines and reasons."""
    kind = _TYPES[part]
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return all_unknown(kind, why)
    return () if part in ("conf_files", "files") else Unknown(why)


def _lines(reading: int, end: float) -> Iterator[tuple[int, bytes]]:
    """(number of a source, what it says), as they come."""
    rest, ready = b"", select.poll()
    ready.register(reading, select.POLLIN)
    while (left := end - time.monotonic()) > 0 and ready.poll(left * 1000):
        piece = os.read(reading, 1 << 16)
        if not piece:
            return
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            number, _, said = line.partition(b" ")
            yield int(number), said


def _end(child: int) -> None:
    """Kill it. One that hangs inside the kernel is not waited for: it ends when the kernel lets go."""
    os.kill(child, signal.SIGKILL)
    for _ in range(50):
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.001)
