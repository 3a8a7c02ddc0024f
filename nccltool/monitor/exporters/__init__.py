"""SHOW to monitoring: ways to hand samples over, one a file, found by listing this folder."""

from typing import cast

from nccltool.core import members
from nccltool.core.errors import BadInput
from nccltool.monitor.exporters.base import AnyDestination

_NAMES = members.names(__path__, first=("textfile", "pushgateway"))


def named(text: str) -> AnyDestination:
    """What --metrics names: textfile:FILE, pushgateway:URL. Raises BadInput."""
    known = {name: cast("type[AnyDestination]", members.module(__name__, name).Destination) for name in _NAMES}
    name, _, where = text.partition(":")
    if name not in known or not where:
        ways = " or ".join(f"{name}:{kind.EXAMPLE}" for name, kind in known.items())
        raise BadInput(f"--metrics {text[:80]!r} cannot be used", f"write {ways}")
    try:
        return known[name].of_text(where)
    except BadInput as error:
        message = error.message.replace(f"--{name}", f"--metrics {name}", 1)
        raise BadInput(message, error.remedy) from error
