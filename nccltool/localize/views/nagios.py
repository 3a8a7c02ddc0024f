"""A localization as a monitoring plugin says it: one line, and figures after a bar."""

from nccltool.core.plugin_line import plugin_line, time_figure
from nccltool.localize.headline import headline
from nccltool.localize.localized import LocalizedRun


def render(run: LocalizedRun) -> str:
    found = run.localization
    figures = [
        *time_figure(run.info.duration_s),
        f"suspects={len(found.suspects)}",
        f"undetermined={len(found.undetermined)}",
        f"measurements={len(run.encounters)}",
    ]
    figures += [] if found.noise is None else [f"noise={100 * found.noise:.3g}%"]
    return plugin_line(run.verdict, headline(run), figures)
