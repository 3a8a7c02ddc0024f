"""What rules about NVLink have in common: what the GPUs of a host can do."""

from nccltool.doctor.rules.base import known
from nccltool.hosts.facts import Gpu


def on_switch(gpu: Gpu) -> bool:
    """The GPU has active links to an NVSwitch. Raises NotKnown."""
    return any(link.active and link.remote == "switch" for link in known(gpu.nvlinks))
