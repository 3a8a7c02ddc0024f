"""What a measurement of pairs has come to, from what its ranks say."""

from nccltool.core.findings import Finding
from nccltool.launch.events import EVERYWHERE, Event, EventReader
from nccltool.localize.encounter import Encounter
from nccltool.localize.pairs.events import OF_PAIRS, Encountered, RoundEnded
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
        self._wrong: list[WrongData] = []
        self._known: set[tuple[object, ...]] = set()

    def take(self, event: Event) -> None:
        match event:
            case Encountered():
                self._encountered(event.encounter)
            case RoundEnded():
                self.done.add(event.step)
            case WrongData():
                self._wrong.append(event)

    def _encountered(self, one: Encounter) -> None:
        """Two ranks say what came of a meeting: the first word counts."""
        key = (one.round, one.members, one.is_directed, one.rail)
        if key not in self._known:
            self._known.add(key)
            self.encounters.append(one)

    def findings(self) -> tuple[Finding, ...]:
        return judge.wrong_data(self._wrong)
