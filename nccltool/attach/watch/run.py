"""A watch from its first tick to its end: until the job hangs, or until it is interrupted."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from nccltool.attach.report import AttachReport
from nccltool.attach.watch.loop import JobWatch, WatchTick


@dataclass(slots=True)
class WatchRun:
    """The ticks of a watch. `show` takes each of them."""

    watch: JobWatch
    until_hung: bool
    show: Callable[[WatchTick], None]
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    wait: Callable[[float], None] = time.sleep
    began_s: float = field(init=False, default=0.0)

    def run(self) -> AttachReport:
        """The report on the hang that ends it; without --until-hung it goes on until it is interrupted. Raises
        BadInput, NotJudged."""
        self.began_s = self.clock()
        due = self.began_s
        while True:
            tick = self.watch.tick(self.wall())
            self.show(tick)
            if self.until_hung and tick.state == "hung" and tick.report is not None:
                return tick.report
            due = max(due + self.watch.every_s, self.clock())
            self.wait(max(0.0, due - self.clock()))
