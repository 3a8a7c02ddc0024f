"""One input in a process of its own: what the command answers, how long it takes, and how much memory."""

import errno
import io
import os
import re
import resource
import select
import shutil
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HANG_S = 10.0
"""Without the time in which it waited for a core."""
_LONGEST_WAIT_S = 60.0
MOST_BYTES = 256 << 20
OWN_BYTES = 64 << 20
"""What a command takes without any input; the process that is forked may have more, as that of the tests has."""
SILENCE_S = 0.2
"""Instead of the 10 s after which a pipe is given up: that it is given up is what counts."""
_WRITABLE_BYTES = 4 << 30
"""So that what is out of bounds does no harm to the machine. What V8 reserves for charts does not count."""
_CODES = (0, 1, 2, 3, 4, 5)
"""docs/exit-codes.md; nobody interrupts."""
_RAISED = 70
_STARTED = 71
"""A rank, ssh or a server would have been started: the input is accepted."""
_STARTERS = ("ssh", "srun", "scontrol", "sbatch", "bash", "sh", "python")
_THREAD = re.compile(r"Traceback \(most recent|Exception in thread|Exception ignored|never (?:retrieved|awaited)")
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1d\x1f\x7f]")
"""In documents: JSON escapes these itself, and a stream of events begins its lines with the byte RS."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FuzzInput:
    """What a command is given; names of files are relative to the folder in which it runs."""

    target: str
    words: tuple[str, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    call: Callable[[], object] | None = None
    """In place of a command, a function; it may raise what the command line turns into a sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """How it ended."""

    wrong: str
    """Empty = as it should be."""
    code: int
    seconds: float
    peak_bytes: int
    said: str

    @property
    def started(self) -> bool:
        return self.code == _STARTED


def run(one: FuzzInput, folder: Path) -> Outcome:
    """In this folder, which then has what the command left in it."""
    for name, content in one.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            shutil.rmtree(path)
        path.write_bytes(content)
    out, err = _memory("out"), _memory("err")
    began, base = time.monotonic(), _resident_bytes()
    child = os.fork()
    if not child:
        _child(one, folder, out, err)
    ended = _ends_in_time(child)
    _, status, used = os.wait4(child, 0)
    seconds = time.monotonic() - began
    said_out, said_err = _content(out), _content(err)
    code = os.waitstatus_to_exitcode(status)
    wrong = "" if ended else f"hangs: no end after {HANG_S:g} s"
    wrong = wrong or _wrong(one, code, said_out, said_err)
    peak = max(0, used.ru_maxrss * 1024 - base) + OWN_BYTES
    if not wrong and peak > MOST_BYTES:
        wrong = f"took {peak >> 20} MiB"
    said = f"{said_out.decode(errors='replace')}{said_err.decode(errors='replace')}"
    return Outcome(wrong=wrong, code=code, seconds=seconds, peak_bytes=peak, said=said)


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _memory(name: str) -> int:
    return os.memfd_create(name)


def _content(handle: int) -> bytes:
    size = os.fstat(handle).st_size
    content = os.pread(handle, min(size, 4 << 20), 0)
    os.close(handle)
    return content


def _ends_in_time(child: int) -> bool:
    """Whether the process ended by itself; it is killed with all that it started."""
    watched = os.pidfd_open(child)
    try:
        ready = select.poll()
        ready.register(watched, select.POLLIN)
        ended, began, left = False, time.monotonic(), HANG_S
        while not ended and left > 0:
            ended = bool(ready.poll(left * 1000))
            left = HANG_S + min(_waited_for_a_core_s(child), _LONGEST_WAIT_S) - (time.monotonic() - began)
    finally:
        os.close(watched)
    if not ended:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    return ended


def _waited_for_a_core_s(group: int) -> float:
    """How long the threads of a group could have run and did not: on a busy machine that is most of the time. One
    that sleeps until another has done its part has waited with it."""
    waited = 0
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        with suppress(OSError, ValueError, IndexError):
            if int((folder / "stat").read_text().rpartition(")")[2].split()[2]) == group:
                waited += sum(int(one.read_text().split()[1]) for one in folder.glob("task/*/schedstat"))
    return waited / 1e9


def _wrong(one: FuzzInput, code: int, out: bytes, err: bytes) -> str:
    told = err.decode(errors="replace")
    if code == _RAISED:
        return f"raises {told.strip().rpartition(chr(10))[2][:200]}"
    if code < 0:
        return f"is killed by {signal.Signals(-code).name}"
    if _THREAD.search(told):
        return "prints a traceback"
    if code not in (*_CODES, _STARTED):
        return f"exits with {code}"
    if code == 2 and "Error: " not in told and "nagios" not in "".join(one.words) and one.call is None:
        return "exits with 2 and says nothing"
    return _raw(one, out, told)


def _raw(one: FuzzInput, out: bytes, told: str) -> str:
    """What would act on a terminal, in what is for people: a document is data, a shell gets its own word back."""
    words, text = one.words, out.decode(errors="replace")
    for typed in one.env.get("COMP_WORDS", "").split(" "):
        text = text.replace(typed, "")
    is_data = any(form in word for word in words for form in ("json", "junit", "sarif", "ctrf", "--output"))
    if _is_colored(one):
        text, told = _COLORS.sub("", text), _COLORS.sub("", told)
    raw = _CONTROL.search(text) if is_data else _unprintable(text)
    raw = raw or _unprintable(told)
    return f"prints {raw[0]!r} as it is" if raw else ""


def _is_colored(one: FuzzInput) -> bool:
    """Whether colors are asked for: by an option, its variable, or a configuration file."""
    in_file = any(b"color" in content for name, content in one.files.items() if name.endswith(".toml"))
    return in_file or "NCCLTOOL_COLOR" in one.env or any(word.startswith("--color") for word in one.words)


def _unprintable(text: str) -> re.Match[str] | None:
    plain = text.replace("\n", "").replace("\t", "").replace("\x1e", "")
    if plain.isprintable():
        return None
    return next(found for found in re.finditer(r".", plain, re.DOTALL) if not found[0].isprintable())


def _child(one: FuzzInput, folder: Path, out: int, err: int) -> None:
    code = _RAISED
    try:
        os.setpgid(0, 0)
        _prepare(one, folder, out, err)
        code = _ended(one)
    except BaseException:  # noqa: BLE001 - it is what is looked for
        _tell(traceback.format_exc())
    finally:
        with suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _tell(text: str) -> None:
    os.write(2, text.encode(errors="backslashreplace"))


def _prepare(one: FuzzInput, folder: Path, out: int, err: int) -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_WRITABLE_BYTES, _WRITABLE_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    stdin = _memory("in")
    os.write(stdin, one.stdin)
    os.lseek(stdin, 0, os.SEEK_SET)
    for stream, handle in ((0, stdin), (1, out), (2, err)):
        os.dup2(handle, stream)
        os.close(handle)
    sys.stdin, sys.stdout, sys.stderr = (
        io.TextIOWrapper(os.fdopen(0, "rb")),
        io.TextIOWrapper(os.fdopen(1, "wb"), errors="strict", write_through=True),
        io.TextIOWrapper(os.fdopen(2, "wb"), errors="backslashreplace", write_through=True),
    )
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(_environment(folder, one.env))
    sys.argv = ["nccltool", *one.words]
    _give_up_pipes_soon()
    sys.addaudithook(_keep_inside)


def _environment(folder: Path, env: Mapping[str, str]) -> dict[str, str]:
    own = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "XDG_STATE_HOME": str(folder / "state"),
        "XDG_CONFIG_HOME": str(folder / "config"),
        "LANG": "C.UTF-8",
        "CUDA_VISIBLE_DEVICES": "",
    }
    clean = {name: value.replace("\x00", "") for name, value in env.items()}  # the kernel holds no other
    return own | clean


def _give_up_pipes_soon() -> None:
    from nccltool.core import run_directory, user_files

    user_files.SILENCE_S = SILENCE_S
    for function in (user_files.contents, run_directory.document):
        defaults: dict[str, Any] = function.__kwdefaults__ or {}
        if "silence_s" in defaults:
            defaults["silence_s"] = SILENCE_S
        elif function.__defaults__ and function.__defaults__[-1] == 10.0:
            function.__defaults__ = (*function.__defaults__[:-1], SILENCE_S)


def _keep_inside(event: str, arguments: tuple[Any, ...]) -> None:
    """No program is started and nothing is asked over the network; what would begin ranks or serve ends here."""
    if event in ("subprocess.Popen", "os.posix_spawn", "os.exec", "os.system"):
        name = os.path.basename(os.fsdecode(arguments[0] or "?"))  # noqa: PTH119
        if name.startswith(_STARTERS):
            _started()
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    address = arguments[1] if event.startswith("socket.") and len(arguments) > 1 else None
    if event == "socket.bind" and isinstance(address, tuple) and isinstance(address[0], str):  # not netlink
        _started()
    if event == "socket.getaddrinfo":
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    if event == "socket.connect" and isinstance(address, tuple):
        raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))


def _started() -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(_STARTED)


def _ended(one: FuzzInput) -> int:
    """The exit code. Raises what the command did not turn into one."""
    from nccltool.core.errors import NccltoolError

    if one.call is not None:
        try:
            one.call()
        except NccltoolError as error:
            return error.exit_code
        return 0
    from nccltool.cli import main

    try:
        main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    return 0
