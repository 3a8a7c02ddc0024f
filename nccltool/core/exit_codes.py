"""Exit codes as monitoring plugins have them."""

STYLES = ("default", "nagios")
WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
"""Of the codes 0 to 3, as plugins write them."""
_NOT_JUDGED = (2, 4, 130)
"""Of ours: bad usage, nothing could be judged, interrupted."""


def nagios(status: str, code: int) -> int:
    """The code of a plugin for a status and our code, which is 0 also for warnings."""
    if code == 0:
        return 1 if status == "warn" else 0
    return 3 if code in _NOT_JUDGED else 2
