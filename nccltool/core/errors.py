"""What can go wrong that a user can do something about.

NccltoolError               one sentence and a remedy; the command line prints both
├── BadInput                an option, a file or a value is wrong            exit 2
├── RunDirError             the run directory cannot be written              exit 2
├── ResultNotWritten        what was found could not be written              exit 5
├── DidNotComplete          a rank died, hung or never came                  exit 3
└── NotJudged               nothing could be judged                          exit 4

Anything else that is raised is a defect of nccltool.
"""


class NccltoolError(Exception):
    """A sentence for the user, and what to do about it."""

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy


class BadInput(NccltoolError):
    """An option, a file or a value that cannot be used; the message names it."""

    exit_code = 2


class RunDirError(NccltoolError):
    """The run directory cannot be made or written."""

    exit_code = 2


class DidNotComplete(NccltoolError):
    """The run ended before its plan did."""

    exit_code = 3


class NotJudged(NccltoolError):
    """What was asked cannot be told from what was measured."""

    exit_code = 4


class ResultNotWritten(NccltoolError):
    """The command did its work, but its result could not be written where it was to go."""

    exit_code = 5
