"""`scripts/bench [--smallest] [NAME...]`: all of them when none is named.

--smallest shows in seconds that a benchmark still works; whether its targets are met is not asked.
`scripts/bench NAME --OPTION...` passes options to a benchmark that takes some: `scripts/bench chaos --help`.
"""

import os
import sys
from importlib import import_module
from inspect import signature
from itertools import takewhile

from benchmarks import extent

ALL = (
    *("startup", "overhead", "adaptive", "lateness", "sweep", "drills"),
    *("hosts", "judging", "settings", "ranks", "scale", "links", "train", "clean"),
    *("triage", "failures", "wording", "imports", "serve", "report", "history", "localize", "pairs", "plan"),
    *("chaos", "fuzz", "attacks", "attach", "attach_far", "plan_links", "trace", "states"),
)


def main() -> None:
    """Run what was asked for; exit 1 when a target is missed."""
    words = [word for word in sys.argv[1:] if word != "--smallest"]
    if "--smallest" in sys.argv and not extent.IS_SMALLEST:  # settings are read when the benchmarks are imported
        os.execve(
            sys.executable, [sys.executable, "-m", "benchmarks", *words], {**os.environ, extent.VARIABLE: "1"}
        )
    given = list(takewhile(lambda word: not word.startswith("-"), words))
    names, options = given or ALL, words[len(given) :]
    if options and not given:
        sys.exit(f"{__doc__}\nbenchmarks: {', '.join(ALL)}")
    unknown = [name for name in names if name not in ALL]
    if unknown:
        sys.exit(f"{unknown[0]!r} is not a benchmark: choose from {', '.join(ALL)}")
    met = []
    for name in names:
        print(f"== {name}", flush=True)
        benchmark = import_module(f"benchmarks.{name}")
        if options and not signature(benchmark.main).parameters:
            sys.exit(f"{name} takes no options\n\n{benchmark.__doc__}")
        met.append(benchmark.main(options) if options else benchmark.main())
    sys.exit(0 if all(met) or extent.IS_SMALLEST else 1)


if __name__ == "__main__":
    main()
