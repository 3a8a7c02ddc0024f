"""A diagnosis as a monitoring plugin says it: the verdict, and how many rules came to what as figures."""

from collections import Counter

from nccltool.core.plugin_line import plugin_line, time_figure
from nccltool.doctor.diagnosis import Diagnosis
from nccltool.doctor.views import base


def render(diagnosis: Diagnosis) -> str:
    counts = Counter(one.status for one in diagnosis.outcomes)
    rules = [f"rules_{status}={counts[status]}" for status in ("fail", "warn", "unknown", "pass", "skip")]
    return plugin_line(
        diagnosis.verdict, base.headline(diagnosis), [*time_figure(diagnosis.info.duration_s), *rules]
    )
