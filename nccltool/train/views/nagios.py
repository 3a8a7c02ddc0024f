"""Training runs as a monitoring plugin says them: the verdict, and the time of a step as a figure."""

from nccltool.core.plugin_line import plugin_line, time_figure
from nccltool.train.result import TrainRun
from nccltool.train.views import table


def render(run: TrainRun) -> str:
    steps = [f"'{one.strategy} step'={one.step_time_s.seconds:.6g}s" for one in run.trainings if one.step_time_s]
    return plugin_line(run.verdict, table.headline(run), [*time_figure(run.info.duration_s), *steps])
