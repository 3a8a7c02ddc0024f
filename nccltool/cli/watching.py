"""`nccltool attach --watch`: what is printed, counted, and run while a job is watched."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from nccltool.attach import saved
from nccltool.attach.document import to_json
from nccltool.attach.options import AttachOptions, checked
from nccltool.attach.report import AttachReport
from nccltool.attach.views import renderer
from nccltool.attach.views import watch as views
from nccltool.attach.watch import then
from nccltool.attach.watch.looker import HostsLooker
from nccltool.attach.watch.loop import JobWatch, WatchTick
from nccltool.attach.watch.options import WatchOrder
from nccltool.attach.watch.run import WatchRun
from nccltool.cli import INTERRUPTED
from nccltool.cli.looks import look_of
from nccltool.cli.outlet import deliver_each
from nccltool.cli.streams import say
from nccltool.core.text import escaped
from nccltool.monitor import watch_page
from nccltool.monitor.job_metrics import WatchedJob


def watched(options: AttachOptions, order: WatchOrder, command: tuple[str, ...]) -> tuple[str, int]:
    """Watch until the job hangs or Ctrl-C: the status and the exit code. Raises BadInput, NotJudged."""
    looker = HostsLooker(checked(options))
    watch = JobWatch(looker=looker, command=command, every_s=order.every_s)
    run = WatchRun(watch=watch, until_hung=order.until_hung, show=_shower(options, order, watch))
    try:
        report = run.run()
    except SystemExit as ended:
        if ended.code == INTERRUPTED and watch.ticks:
            say(views.summary(watch, run.clock() - run.began_s).rstrip("\n"))
        raise
    finally:
        looker.end()
    if order.then:
        say(escaped(then.carry_out(order.then, to_json(report), _values(report)).told))
    return report.verdict.status, report.verdict.exit_code


def _shower(options: AttachOptions, order: WatchOrder, watch: JobWatch) -> Callable[[WatchTick], None]:
    page = None if order.metrics is None else watch_page.of_text(order.metrics, order.every_s)
    told, verbose = "", look_of(None).verbose

    def show(tick: WatchTick) -> None:
        nonlocal told
        if page is not None:
            page.show(WatchedJob(tick=tick, incidents=tuple(watch.log.incidents)))
        if verbose or tick.event or tick.state != told:
            say(views.line(tick))
        told = tick.state
        if tick.event in ("opened", "worse") and (report := tick.report) is not None:
            deliver_each(lambda form, look: renderer(form, look)(report))
            if options.save is not None:
                folder = Path(options.save, f"{datetime.fromtimestamp(tick.at_s, UTC):%Y%m%dT%H%M%SZ}")
                saved.save(str(folder), report.look, to_json(report))

    return show


def _values(report: AttachReport) -> dict[str, str]:
    """What the command of --then finds in its environment; the document is on its standard input."""
    first = next((one for one in report.answer.culprits if one.level != "low"), None)
    rank = "" if first is None or first.rank is None else str(first.rank)
    host = "" if first is None else first.host
    return {"NCCLTOOL_JOB_STATE": report.answer.state, "NCCLTOOL_JOB_RANK": rank, "NCCLTOOL_JOB_HOST": host}
