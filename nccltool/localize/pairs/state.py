"""What a measurement of pairs has come to, from what its ranks say."""

from nccltool.core.findings import Finding, Subject
from nccltool.core.text import counted
from nccltool.core.units import format_seconds
from nccltool.launch import finding_kinds
from nccltool.launch.events import EVERYWHERE, Event, EventReader
from nccltool.localize.encounter import Encounter
from nccltool.localize.pairs.events import OF_PAIRS, Encountered, RoundEnded, RoundsCut
from nccltool.probe import judge
from nccltool.probe.events import WrongData


class PairsState:
    """What was measured (a nccltool.launch.job.ProductState)."""

    reader = EventReader(*EVERYWHERE, *OF_PAIRS)
    ask_for_less = "--rounds, --bytes, --pair-time"

    def __init__(self) -> None:
        self.encounters: list[Encounter] = []
        self.nodes: tuple[str, ...] = ()
        """Where they are known without ranks."""
        self.done: set[int] = set()
        """Rounds."""
        self._cut: RoundsCut | None = None
        self._wrong: list[WrongData] = []
        self._known: set[tuple[object, ...]] = set()

    def take(self, event: Event) -> None:
        match event:
            case Encountered():
                self._encountered(event.encounter)
            case RoundEnded():
                self.done.add(event.step)
            case RoundsCut():
                self._cut = event
            case WrongData():
                self._wrong.append(event)

    def _encountered(self, one: Encounter) -> None:
        """Two ranks say what came of a meeting: the first word counts."""
        key = (one.round, one.members, one.is_directed, one.rail)
        if key not in self._known:
            self._known.add(key)
            self.encounters.append(one)

    def findings(self) -> tuple[Finding, ...]:
        wrong = judge.wrong_data(self._wrong)
        return wrong if self._cut is None else (*wrong, self._out_of_time(self._cut))

    def _out_of_time(self, cut: RoundsCut) -> Finding:
        left, needed = format_seconds(max(cut.left_s, 0.0)), format_seconds(cut.round_s)
        return finding_kinds.DEADLINE.finding(
            subject=Subject(kind="run", name="deadline"),
            message=f"the run ended after {counted(len(self.done), 'round')}, before the result was certain: "
            f"the next round could take {needed}, and the deadline was {left} away",
            remedy=f"reduce the work ({self.ask_for_less}), or raise --deadline",
        )
