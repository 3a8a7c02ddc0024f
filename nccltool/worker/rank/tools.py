"""What a rank works with, whatever it does: the other ranks, its progress page, its channel, its drills."""

import copy

import torch
import torch.distributed as dist

from nccltool.worker.agreement import Agreement
from nccltool.worker.channel import Channel
from nccltool.worker.progress_page import ProgressPage
from nccltool.worker.rank.contact import Contact
from nccltool.worker.rank.fault import FaultInjector


class RankTools:
    """What a rank works with, once there is a process group."""

    def __init__(
        self, device: torch.device, slot: ProgressPage, channel: Channel, injector: FaultInjector
    ) -> None:
        self.group, self.contact = Agreement(device, slot), Contact()
        self.slot, self.channel, self.injector = slot, channel, injector
        self.large_files = ""
        """The name of a folder that this rank may make; it is removed at the end."""

    def within(self, group: "dist.ProcessGroup", name: str) -> "RankTools":
        """The same with the ranks of a part of the job only. `name` is that of no other part."""
        tools = copy.copy(self)
        tools.group = Agreement(self.group.device, self.slot, group, name)
        return tools
