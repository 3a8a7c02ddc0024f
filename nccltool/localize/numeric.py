"""Whether the packages are installed with which localization calculates: they come with an extra."""

from collections.abc import Callable
from importlib.util import find_spec

from nccltool.core.errors import BadInput

PACKAGES = ("numpy", "scipy")


def require(command: str, find: Callable[[str], object] = find_spec) -> None:
    """Raises BadInput that names what to install."""
    if not all(find(name) for name in PACKAGES):
        raise BadInput(f"{command} needs {' and '.join(PACKAGES)}", "run pip install 'nccltool[localize]'")
