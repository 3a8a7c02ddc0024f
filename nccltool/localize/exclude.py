"""The list of nodes that jobs should avoid, as `srun --exclude` and `sbatch --exclude` take it."""

from nccltool.core.host_lists import fold
from nccltool.localize import accusations
from nccltool.localize.result import Localization


def text(found: Localization) -> str:
    """One line of folded names; empty where nobody is surely at fault."""
    names = accusations.excluded(found)
    return f"{fold(names)}\n" if names else ""
