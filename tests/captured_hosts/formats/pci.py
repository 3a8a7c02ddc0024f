"""The PCI bus in /sys: root ports, switches, and the network adapters behind them."""

import ipaddress
import struct

from tests.captured_hosts.formats.tree import TreeWriter
from tests.captured_hosts.kinds import Hca, Kind, Nic

_VMBUS_ID = "f8615163-0000-1000-2000-00155d9a3c01"
_FLAGS = {"up": 0x1003, "down": 0x1003}


class PciBus:
    """A root port with a switch for each GPU and what is beside it; one root port for the rest."""

    def __init__(self, tree: TreeWriter, kind: Kind) -> None:
        self._tree, self._kind = tree, kind
        self._index = 1

    def write(self) -> None:
        for number in range(self._kind.gpus):
            switch = self._bridge(f"/sys/devices/pci0000:{number * 16:02x}", number)
            make = self._kind.make
            folder = f"{switch}/{gpu_address(number)}"
            self._function(folder, make.pci_class, make.pci_vendor, self._kind.gpu_device, make.driver, number)
        for slot, nic in enumerate(self._kind.nics):
            if not any(hca.netdev == nic.name for hca in self._kind.hcas):
                at_pci = nic.pci and self._place(nic.under_gpu, slot, "04", nic, "0x020000")
                self._nic(nic, at_pci or self._vmbus(nic))
        for slot, hca in enumerate(self._kind.hcas):
            code = "0x020700" if hca.layer == "InfiniBand" else "0x020000"
            folder = self._place(hca.under_gpu, slot, "05", hca, code)
            self._hca(hca, folder, slot)
            for nic in self._kind.nics:
                if nic.name == hca.netdev:
                    self._nic(nic, folder)
        self._virtual("lo", 65536, 772, 0x9)
        for name in self._kind.virtual:
            self._virtual(name, 1500, 1, 0x1003)

    def _bridge(self, folder: str, number: int) -> str:
        for device in (
            f"0000:{number * 16:02x}:01.0",
            f"0000:{number * 16 + 1:02x}:00.0",
            f"0000:{number * 16 + 2:02x}:00.0",
        ):
            folder = f"{folder}/{device}"
            self._function(folder, "0x060400", "0x1000", "0xc030", "pcieport", number, self._kind.acs)
        return folder

    def _place(self, gpu: int | None, slot: int, bus: str, what: Nic | Hca, code: str) -> str:
        number = gpu if gpu is not None else 15
        base = f"/sys/devices/pci0000:{number * 16:02x}"
        if gpu is not None:
            base += "".join(
                f"/0000:{number * 16 + step:02x}:{tail}" for step, tail in ((0, "01.0"), (1, "00.0"), (2, "00.0"))
            )
        folder = f"{base}/0000:{number * 16 + int(bus, 16):02x}:{slot:02x}.0"
        self._function(folder, code, what.vendor, what.device, what.driver, gpu or 0)
        return folder

    def _vmbus(self, nic: Nic) -> str:
        """What Hyper-V gives a guest hangs on its own bus."""
        folder = f"/sys/devices/LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/{_VMBUS_ID}"
        self._tree.write(f"{folder}/vendor", "0x1414\n")
        self._driver(folder, "vmbus", nic.driver)
        return folder

    def _driver(self, folder: str, bus: str, driver: str) -> None:
        (self._tree.root / f"sys/bus/{bus}/drivers/{driver}").mkdir(parents=True, exist_ok=True)
        self._tree.link(f"{folder}/driver", f"/sys/bus/{bus}/drivers/{driver}")

    def _function(
        self, folder: str, code: str, vendor: str, device: str, driver: str, near: int, acs: int | None = None
    ) -> None:
        address = folder.rpartition("/")[2]
        node = near * self._kind.nodes // max(self._kind.gpus, 1)
        size = self._kind.cores // self._kind.nodes
        texts = {
            "class": code,
            "vendor": vendor,
            "device": device,
            "numa_node": "-1" if self._kind.vm else str(node),
            "local_cpulist": f"{node * size}-{(node + 1) * size - 1}",
            "current_link_speed": "32.0 GT/s PCIe",
            "current_link_width": "16",
            "max_link_speed": "32.0 GT/s PCIe",
            "max_link_width": "16",
        }
        for name, text in texts.items():
            self._tree.write(f"{folder}/{name}", f"{text}\n")
        self._tree.write(f"{folder}/config", _config(acs)[: 4096 if self._kind.root else 64])
        self._driver(folder, "pci", driver)
        self._tree.link(f"/sys/bus/pci/devices/{address}", folder)

    def _nic(self, nic: Nic, device: str) -> None:
        self._index += 1
        folder = f"{device}/net/{nic.name}"
        texts = {
            "ifindex": str(self._index),
            "flags": f"{_FLAGS[nic.state]:#x}",
            "operstate": nic.state,
            "carrier": "1" if nic.state == "up" else "0",
            "carrier_changes": "2",
            "mtu": str(nic.mtu),
            "type": str(nic.arp_type),
            "uevent": f"INTERFACE={nic.name}",
        }
        if nic.speed is not None:
            texts["speed"] = str(nic.speed)
        for name, text in texts.items():
            self._tree.write(f"{folder}/{name}", f"{text}\n")
        self._tree.raw_link(f"{folder}/device", f"../../../{device.rpartition('/')[2]}")
        self._tree.link(f"/sys/class/net/{nic.name}", folder)

    def _virtual(self, name: str, mtu: int, arp_type: int, flags: int) -> None:
        self._index += name != "lo"
        folder = f"/sys/devices/virtual/net/{name}"
        bridge = name.startswith(("docker", "virbr"))
        texts = {
            "ifindex": "1" if name == "lo" else str(self._index),
            "flags": f"{flags:#x}",
            "operstate": "unknown" if name == "lo" else "down" if bridge else "up",
            "carrier": "0" if bridge else "1",
            "carrier_changes": "0",
            "mtu": str(mtu),
            "type": str(arp_type),
            "uevent": f"{'DEVTYPE=bridge' if bridge else ''}\nINTERFACE={name}",
        }
        for file, text in texts.items():
            self._tree.write(f"{folder}/{file}", f"{text}\n")
        self._tree.link(f"/sys/class/net/{name}", folder)

    def _hca(self, hca: Hca, device: str, number: int) -> None:
        folder = f"{device}/infiniband/{hca.name}"
        texts = {
            "node_type": hca.node_type,
            "node_guid": f"a088:c203:00aa:{number:04x}",
            "sys_image_guid": f"a088:c203:00aa:{number:04x}",
            "fw_ver": hca.fw,
            "board_id": hca.board,
            "hca_type": hca.type,
            "tc/1/traffic_class": "",
            "ports/1/state": hca.state,
            "ports/1/phys_state": hca.phys_state,
            "ports/1/link_layer": hca.layer,
            "ports/1/rate": hca.rate,
            "ports/1/lid": f"{hca.lid:#x}",
            "ports/1/sm_lid": "0x1" if hca.layer == "InfiniBand" else "0x0",
            "ports/1/counters/symbol_error": "0",
            "ports/1/counters/link_downed": "0",
            "ports/1/hw_counters/out_of_sequence": "0",
        }
        texts.update({f"ports/1/pkeys/{n}": "0xffff" if n == 0 else "0x0000" for n in range(8)})
        for name, text in texts.items():
            self._tree.write(f"{folder}/{name}", f"{text}\n")
        for slot, (gid, kind) in enumerate(_gids(hca, self._kind.nics)):
            self._tree.write(f"{folder}/ports/1/gids/{slot}", f"{gid}\n")
            if kind:
                self._tree.write(f"{folder}/ports/1/gid_attrs/types/{slot}", f"{kind}\n")
            if kind and hca.netdev:
                self._tree.write(f"{folder}/ports/1/gid_attrs/ndevs/{slot}", f"{hca.netdev}\n")
        self._tree.raw_link(f"{folder}/device", f"../../../{device.rpartition('/')[2]}")
        self._tree.link(f"/sys/class/infiniband/{hca.name}", folder)
        self._tree.write(f"/sys/class/infiniband_verbs/uverbs{number}/ibdev", f"{hca.name}\n")
        self._tree.device(f"/dev/infiniband/uverbs{number}")


def gpu_address(number: int) -> str:
    return f"0000:{number * 16 + 3:02x}:00.0"


def gpu_folder(number: int) -> str:
    """Of a GPU, in /sys/devices."""
    above = "/".join(f"0000:{number * 16 + step:02x}:{tail}" for step, tail in enumerate(("01.0", "00.0", "00.0")))
    return f"/sys/devices/pci0000:{number * 16:02x}/{above}/{gpu_address(number)}"


def _gids(hca: Hca, nics: tuple[Nic, ...]) -> list[tuple[str, str]]:
    """(GID, type) by slot; RoCE has each address twice, and every table has empty slots."""
    empty = (":".join(["0000"] * 8), "")
    if not hca.netdev:
        return [(hca.gid, "IB/RoCE v1" if hca.driver != "efa" else ""), empty]
    nic = next(nic for nic in nics if nic.name == hca.netdev)
    four = ipaddress.ip_interface(nic.address).ip
    mapped = ipaddress.IPv6Address(f"::ffff:{four}").exploded
    local = "fe80:0000:0000:0000:bae9:24ff:fe00:0001"
    return [(gid, kind) for gid in (local, mapped) for kind in ("IB/RoCE v1", "RoCE v2")] + [empty] * 4


def _config(acs: int | None) -> bytes:
    """4096 bytes of configuration space; a bridge has AER and, behind it, ACS."""
    config = bytearray(4096)
    struct.pack_into("<I", config, 0x100, 0x0001 | 1 << 16 | (0x148 if acs is not None else 0) << 20)
    if acs is not None:
        struct.pack_into("<IHH", config, 0x148, 0x000D | 1 << 16, 0x5F, acs)
    return bytes(config)
