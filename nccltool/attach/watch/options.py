"""The options of `nccltool attach` that watch, and the order that they are turned into."""

from dataclasses import dataclass

from nccltool.attach.options import AttachOptions
from nccltool.attach.watch import then
from nccltool.core.errors import BadInput
from nccltool.core.units import parse_duration

_EVERY = "30s"
_LEAST_S = 5.0
"""A pulse takes some milliseconds of CPU time for each rank."""
_LONGEST_S = 3600.0


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchOptions:
    """As they were given; a field has the name of its option."""

    watch: str | None = None
    metrics: str | None = None
    until_hung: bool = False
    then: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchOrder:
    """How to watch."""

    every_s: float
    metrics: str | None = None
    until_hung: bool = False
    then: tuple[str, ...] = ()


def watch_order(options: WatchOptions, look: AttachOptions) -> WatchOrder | None:
    """None = a single look. Raises BadInput."""
    if options.then is not None and not options.until_hung:
        raise BadInput("--then has no meaning without --until-hung", "add --until-hung")
    if options.watch is None and not options.until_hung:
        if options.metrics is not None:
            raise BadInput("--metrics has no meaning without --watch", f"add --watch {_EVERY}")
        return None
    for name, is_given in (("--from", look.from_ is not None), ("--native", look.native)):
        if is_given:
            why = "a saved look does not change" if name == "--from" else "native stacks stop the job"
            raise BadInput(f"{name} cannot be combined with --watch or --until-hung: {why}", f"omit {name}")
    word = options.watch or _EVERY
    every_s = parse_duration(word, "--watch")
    if not _LEAST_S <= every_s <= _LONGEST_S:
        raise BadInput(f"--watch {word}: expected {_LEAST_S:g} s to 1 h", f"--watch {_EVERY}")
    return WatchOrder(
        every_s=every_s,
        metrics=options.metrics,
        until_hung=options.until_hung,
        then=() if options.then is None else then.words(options.then),
    )
