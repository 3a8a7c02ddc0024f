"""--metrics and --cluster: where a command hands its metrics over at its end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from nccltool.cli import deliveries
from nccltool.cli.options import given
from nccltool.cli.streams import say
from nccltool.core.errors import BadInput

if TYPE_CHECKING:
    from nccltool.core.findings import Finding
    from nccltool.monitor.exporters import AnyDestination, AnyRun


@dataclass(frozen=True, slots=True)
class Targets:
    """The destinations that --metrics names."""

    ways: "tuple[AnyDestination, ...]" = ()
    baseline: str | None = None
    store: str | None = None

    def take(self, found: "AnyRun") -> "tuple[Finding, ...]":
        """Hand a run over; what went wrong with that, which is said here unless the printed result shows it."""
        if not self.ways:
            return ()
        from nccltool.monitor import export

        troubles = export.handed_over(found, self.ways, self.baseline, self.store)
        for trouble in () if deliveries.shows_table() else troubles:
            say("\n".join(trouble.lines()))
        return troubles


def targets(options: Mapping[str, Any]) -> Targets:
    """Found out before anything runs. Raises BadInput."""
    if not options["metrics"]:
        serves = options.get("serve")
        if not serves and given(click.get_current_context(), ("cluster",)):
            raise BadInput("--cluster needs --metrics", "add --metrics TARGET or remove --cluster")
        return Targets()
    from nccltool.monitor import exporters, metrics  # what they need is imported only where it is asked for

    cluster = metrics.cluster_name(options["cluster"])
    ways = tuple(exporters.named(text, cluster) for text in options["metrics"])
    return Targets(ways, options.get("baseline"), options.get("store"))
