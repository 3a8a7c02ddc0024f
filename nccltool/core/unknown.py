"""What could not be looked at: not known is a value, with its reason."""

import msgspec


class Unknown(msgspec.Struct, frozen=True, gc=False, rename={"reason": "unknown"}):
    """Not known, and why: one clause without a full stop, e.g. `/proc/x cannot be read: Permission denied`."""

    reason: str
