"""`scripts/bench [NAME...]`: all of them when none is named."""

import sys
from importlib import import_module

ALL = (
    *("startup", "overhead", "adaptive", "lateness", "sweep", "drills"),
    *("hosts", "judging", "ranks", "scale", "links", "train", "triage", "serve"),
)


def main() -> None:
    """Run what was asked for; exit 1 when a target is missed."""
    names = sys.argv[1:] or ALL
    unknown = [name for name in names if name not in ALL]
    if unknown:
        sys.exit(f"{unknown[0]!r} is not a benchmark: choose from {', '.join(ALL)}")
    met = []
    for name in names:
        print(f"== {name}", flush=True)
        met.append(import_module(f"benchmarks.{name}").main())
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
