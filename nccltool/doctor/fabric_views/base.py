"""Comments that all forms have."""

from collections.abc import Iterator

from nccltool.doctor.fabric_choice import ChosenFabric
from nccltool.doctor.fabrics.base import FabricSetting


def head(chosen: ChosenFabric) -> Iterator[str]:
    """What the settings are for, and what no setting can say."""
    yield f"# {chosen.fabric.title}: {chosen.why}" if chosen.why else f"# {chosen.fabric.title}"
    for advice in chosen.fabric.advice:
        yield f"# {advice}"


def comment(setting: FabricSetting) -> str:
    return f"# {setting.reason} ({setting.source})"
