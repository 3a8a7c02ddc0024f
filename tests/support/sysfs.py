"""Trees like /sys on real hosts, made of the same links and files."""

from collections.abc import Sequence
from pathlib import Path


class Sysfs:
    """A root folder with a /sys in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._slots = 0
        (root / "sys/class/net").mkdir(parents=True)
        self.virtual("lo", speed=None, state="unknown")

    def write(self, path: str, text: str) -> None:
        file = self.root / "sys" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def link(self, path: str, target: Path) -> None:
        link = self.root / "sys" / path
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)

    def nic(self, name: str, speed: object = 25000, state: str = "up", driver: str = "mlx5_core") -> Path:
        """An interface of a PCI device; the file of its speed is missing when that is None."""
        return self._interface(name, self._device(driver) / f"net/{name}", speed, state, "../..")

    def virtual(self, name: str, speed: object = 10000, state: str = "up", kind: str = "") -> Path:
        """An interface without hardware; `kind` as the kernel names it (bridge, vlan, bond)."""
        folder = self.root / f"sys/devices/virtual/net/{name}"
        self._interface(name, folder, speed, state, "")
        (folder / "uevent").write_text(f"DEVTYPE={kind}\nINTERFACE={name}\n" if kind else f"INTERFACE={name}\n")
        return folder

    def bond(self, name: str, members: Sequence[str], mode: str = "802.3ad 4", active: str = "") -> None:
        folder = self.virtual(name, speed=1, kind="bond")
        (folder / "bonding").mkdir()
        (folder / "bonding/mode").write_text(f"{mode}\n")
        (folder / "bonding/slaves").write_text(" ".join(members) + "\n")
        (folder / "bonding/active_slave").write_text(f"{active}\n")
        self.write("class/net/bonding_masters", name)

    def vlan(self, name: str, under: str | None) -> None:
        folder = self.virtual(name, kind="vlan")
        if under:
            (folder / f"lower_{under}").symlink_to(self.root / f"sys/class/net/{under}")

    def port(
        self,
        adapter: str,
        rate: str | None = "400 Gb/sec (4X NDR)",
        state: str | None = "4: ACTIVE",
        layer: str = "InfiniBand",
        number: int = 1,
        driver: str = "mlx5_core",
    ) -> Path:
        """A port of an RDMA adapter; files that are None are missing."""
        link = self.root / f"sys/class/infiniband/{adapter}"
        if not link.exists():
            folder = self._device(driver) / f"infiniband/{adapter}"
            folder.mkdir(parents=True)
            (folder / "device").symlink_to("../..")
            self.link(f"class/infiniband/{adapter}", folder)
        port = link / f"ports/{number}"
        port.mkdir(parents=True)
        for name, text in (("rate", rate), ("state", state), ("link_layer", layer)):
            if text is not None:
                (port / name).write_text(f"{text}\n")
        return port

    def bare(self, flags: str = "fpu sse2") -> None:
        """The processors of a host; with the flag `hypervisor` those of a virtual machine."""
        (self.root / "proc").mkdir(exist_ok=True)
        (self.root / "proc/cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\n")

    def slot(self, device_of: Path, speed: str, width: int, above: tuple[str, int] | None = None) -> None:
        """How fast the PCI device of a port or an interface can be, and the bridge above it."""
        device = (device_of / "device").resolve()
        for folder, ends in ((device, (speed, width)), (device.parent, above)):
            if ends is not None:
                (folder / "max_link_speed").write_text(f"{ends[0]}\n")
                (folder / "max_link_width").write_text(f"{ends[1]}\n")

    def runs_over(self, port: Path, interface: str) -> None:
        """The table of addresses of a RoCE port; its other slots are empty."""
        folder = port / "gid_attrs/ndevs"
        folder.mkdir(parents=True)
        (folder / "0").write_text(f"{interface}\n")
        (folder / "1").mkdir()  # the kernel answers EINVAL; reading a folder fails too

    def _interface(self, name: str, folder: Path, speed: object, state: str, device: str) -> Path:
        folder.mkdir(parents=True)
        (folder / "operstate").write_text(f"{state}\n")
        if speed is not None:
            (folder / "speed").write_text(f"{speed}\n")
        if device:
            (folder / "device").symlink_to(device)
        self.link(f"class/net/{name}", folder)
        return folder

    def _device(self, driver: str) -> Path:
        self._slots += 1
        bridge = self.root / f"sys/devices/pci0000:00/0000:00:{self._slots:02x}.0"
        device = bridge / f"0000:{self._slots:02x}:00.0"
        device.mkdir(parents=True)
        drivers = self.root / f"sys/bus/pci/drivers/{driver}"
        drivers.mkdir(parents=True, exist_ok=True)
        (device / "driver").symlink_to(drivers)
        return device


def infiniband_host(root: Path) -> Sysfs:
    """Eight adapters of 400 Gb/s, one more that is down, and a management interface."""
    tree = Sysfs(root)
    tree.nic("eno1", 1000, driver="igb")
    tree.virtual("docker0", 10000, state="down", kind="bridge")
    for number in (0, 1, 2, 3, 8, 9, 10, 11):
        tree.port(f"mlx5_{number}")
    tree.port("mlx5_4", rate="10 Gb/sec (4X SDR)", state="1: DOWN")
    return tree


def roce_host(root: Path) -> Sysfs:
    """Two adapters of 200 Gb/s over Ethernet."""
    tree = Sysfs(root)
    for number in (0, 1):
        tree.nic(f"ens{number}", 200000)
        port = tree.port(f"mlx5_{number}", rate="200 Gb/sec (4X HDR)", layer="Ethernet")
        tree.runs_over(port, f"ens{number}")
    return tree


def ethernet_host(root: Path) -> Sysfs:
    """One interface of 25 Gb/s, and one without a cable."""
    tree = Sysfs(root)
    tree.nic("eth0", 25000)
    tree.nic("eth1", None, state="down")
    return tree


def container(root: Path) -> Sysfs:
    """Nothing but one end of a veth pair."""
    tree = Sysfs(root)
    tree.virtual("eth0", 10000)
    return tree
