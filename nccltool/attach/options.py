"""The options of `nccltool attach`, and the order that they are turned into."""

from dataclasses import dataclass
from pathlib import Path

from nccltool.attach.look.order import LookOrder
from nccltool.core.errors import BadInput
from nccltool.launch.options import StartOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class AttachOptions:
    """As they were given; a field has the name of its option."""

    pid: int | None = None
    program: str | None = None
    job: str | None = None
    kubernetes: str | None = None
    container: str | None = None
    from_: str | None = None
    save: str | None = None
    interval: float = 1.5
    samples: int = 2
    native: bool = False
    ras: str = "auto"
    trust_pickle: bool = False
    ask: bool = False
    debug_container: str | None = None
    host_timeout: float = 30.0
    hosts: str | None = None
    hostfile: str | None = None
    ssh: str = "ssh"
    remote_python: str | None = None

    @property
    def start(self) -> StartOptions:
        """Those that name hosts."""
        return StartOptions(
            hosts=self.hosts, hostfile=self.hostfile, ssh=self.ssh, remote_python=self.remote_python
        )


_PLACES = ("hosts", "hostfile", "job", "kubernetes", "from_")


def checked(options: AttachOptions) -> AttachOptions:
    """Raises BadInput for options that contradict each other."""
    named = [name for name in _PLACES if getattr(options, name) is not None]
    if len(named) > 1:
        first, second = (f"--{name.rstrip('_')}" for name in named[:2])
        raise BadInput(f"{first} and {second} name different places to look at", "omit one")
    if options.from_ is not None and (given := _only_live(options)):
        raise BadInput(f"{given} has no meaning with --from", "omit it: nothing is looked at again")
    if options.pid is not None and named:
        where = named[0].rstrip("_")
        raise BadInput(
            f"--pid names a process of this host, and --{where} other places",
            "use --program to choose a job there",
        )
    if options.container is not None and options.kubernetes is None:
        raise BadInput("--container has no meaning without --kubernetes", "add --kubernetes NAMESPACE/NAME")
    if options.debug_container is not None and options.kubernetes is None:
        raise BadInput("--debug-container has no meaning without --kubernetes", "add --kubernetes NAMESPACE/NAME")
    if options.ask and not options.trust_pickle:
        raise BadInput("--ask: the dumps that ranks write are pickles", "add --trust-pickle")
    if options.save is not None and Path(options.save).exists() and not Path(options.save).is_dir():
        raise BadInput(f"--save {options.save} is not a folder", "name a new folder")
    return options


def _only_live(options: AttachOptions) -> str:
    """An option that only a look at processes has."""
    given = {
        "--pid": options.pid is not None,
        "--program": options.program is not None,
        "--native": options.native,
        "--ask": options.ask,
        "--trust-pickle": options.trust_pickle,
        "--save": options.save is not None,
    }
    return next((name for name, is_given in given.items() if is_given), "")


def look_order(options: AttachOptions) -> LookOrder:
    return LookOrder(
        pid=options.pid,
        program=options.program or "",
        samples=options.samples,
        interval_s=options.interval,
        trust_pickle=options.trust_pickle,
        asks=options.ask,
    )
