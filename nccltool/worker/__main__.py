"""`python -m nccltool.worker` is a node process. Before it imports more, it can be woken and ended."""

import signal

from nccltool.core import waking
from nccltool.worker import starting


def main() -> None:
    """Run the job that comes in on standard input."""
    waking.when_readable(0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # who waits for us learns that it was a signal
    signs = starting.Signs(1)
    from nccltool.worker.node.process import run

    signs.close()
    run()


if __name__ == "__main__":
    main()
