"""Logins that hang because large packets are lost: the kernel sends them again, and nobody confirms them."""

from collections.abc import Sequence

from nccltool.hosts.sources import tcp_table
from nccltool.launch import finding_kinds
from nccltool.launch.meeting import Meeting
from nccltool.launch.session import NodeProcess

LOOK_S = 1.0
"""Between looks. A healthy login is over in less, so that most runs never look."""


class StuckLogins:
    """What nobody confirms is noted while a login hangs: ssh gives up in the same moment as we do, and its
    connections end with it."""

    def __init__(self, now: float) -> None:
        self._stuck: dict[int, int] = {}
        """Bytes by node, at the last look at a connection of its ssh."""
        self._next = now + LOOK_S

    def judge(self, meeting: Meeting, processes: Sequence[NodeProcess], now: float) -> None:
        """Those that were lost because they sent nothing, or because ssh gave up, and whose packets are lost."""
        if now >= self._next or meeting.silent:
            self._look(meeting, processes)
            self._next = now + LOOK_S
        gave_up = (n for n, lost in meeting.lost.items() if lost.kind is finding_kinds.HOST_UNREACHABLE)
        for node in (*meeting.silent, *gave_up):
            if stuck := self._stuck.get(node):
                meeting.blame_large_packets(node, stuck)
        meeting.silent.clear()

    def _look(self, meeting: Meeting, processes: Sequence[NodeProcess]) -> None:
        awaited = {
            one.process.pid: one.command.nodes[0]
            for one in processes
            if one.process.poll() is None and meeting.awaits(one.command.nodes)
        }
        if awaited:
            self._stuck |= {awaited[session]: stuck for session, stuck in tcp_table.stuck_bytes(awaited).items()}
