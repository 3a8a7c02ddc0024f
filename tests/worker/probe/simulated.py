"""A device with a queue, and a host that launches, in nanoseconds that nobody waits for."""

from nccltool.probe.collectives.base import Call


class SimulatedMark:
    """A point in the queue (a StreamMark)."""

    def __init__(self, device: "SimulatedDevice") -> None:
        self._device = device
        self.at_ns = 0
        self.waiting: Call = lambda: None
        """Called by who waits for it."""

    def query(self) -> bool:
        return self.at_ns <= self._device.host_ns

    def synchronize(self) -> None:
        self.waiting()
        self._device.host_ns = max(self._device.host_ns, self.at_ns)

    def elapsed_time(self, later: "SimulatedMark") -> float:
        return (later.at_ns - self.at_ns) / 1e6


class SimulatedDevice:
    """It does what it is given in order, each not before it was launched (a Stream)."""

    def __init__(self, launch_ns: int, quickens: float = 1.0) -> None:
        """`quickens`: how much faster its clock goes after each time that it was held."""
        self.host_ns, self.free_ns = 0, 0
        self.longest_queue_ns = 0
        self.meetings = 0
        self.ticks_per_ns, self._quickens = 0.5, quickens
        self._launch_ns = launch_ns

    def mark(self) -> SimulatedMark:
        """A point in the queue, here."""
        mark = SimulatedMark(self)
        mark.at_ns = max(self.host_ns, self.free_ns)
        return mark

    def spin(self, ticks: int) -> None:
        """Busy for so long."""
        self._launch(round(ticks / self.ticks_per_ns))
        self.ticks_per_ns *= self._quickens

    def meet(self) -> None:
        """A device meets itself."""
        self.meetings += 1

    def call(self, ns: int) -> Call:
        """A call that takes so long on the device."""

        def call() -> None:
            self.host_ns += self._launch_ns
            self._launch(ns)

        return call

    def settle(self) -> None:
        """The host waits until all is done."""
        self.host_ns = max(self.host_ns, self.free_ns)

    def _launch(self, ns: int) -> None:
        self.free_ns = max(self.host_ns, self.free_ns) + ns
        self.longest_queue_ns = max(self.longest_queue_ns, self.free_ns - self.host_ns)
