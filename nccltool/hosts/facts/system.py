"""The machine and its operating system: kernel, processors, maker, clock, names, daemons."""

import msgspec

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import NOT_READ, Count, Flag, Number, Setting, Text, Texts, known


class KernelModule(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A kernel module that is loaded or built in. Source: /sys/module, /proc/modules."""

    name: str
    version: str = ""
    """'' = it names none."""


class Kernel(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The running kernel, its command line, modules and settings."""

    release: Text = NOT_READ
    """e.g. `5.15.0-1058-aws`. Source: /proc/sys/kernel/osrelease."""
    version: Text = NOT_READ
    """Build, e.g. `#64-Ubuntu SMP ...`."""
    arch: Text = NOT_READ
    """x86_64, aarch64; in a captured tree from /proc/sys/kernel/arch or /proc/cpuinfo."""
    cmdline: Text = NOT_READ
    modules: tuple[KernelModule, ...] | Unknown = NOT_READ
    """Those that matter to collectives (GPU, RDMA, network drivers, peer memory)."""
    sysctls: tuple[Setting, ...] = ()
    """Names as sysctl(8) writes them; values as the kernel does, tabs kept."""
    clocksource: Text = NOT_READ
    transparent_hugepage: Text = NOT_READ
    """The chosen word: always, madvise, never."""

    def sysctl(self, name: str) -> Text:
        """The value of a sysctl, e.g. `kernel.numa_balancing`."""
        return next((one.value for one in self.sysctls if one.name == name), NOT_READ)

    def module(self, name: str) -> KernelModule | None:
        """The loaded module; None = not loaded. Raises NotKnown when modules could not be listed."""
        return next((one for one in known(self.modules) if one.name == name), None)


class Cpu(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Processors and memory."""

    model: Text = NOT_READ
    vendor: Text = NOT_READ
    """GenuineIntel, AuthenticAMD, ...; on ARM the implementer, e.g. `0x41`."""
    hypervisor: Flag = NOT_READ
    """The hypervisor flag of /proc/cpuinfo (x86), or a hypervisor that sysfs or the firmware names."""
    online: Text = NOT_READ
    """/sys/devices/system/cpu/online, e.g. `0-191`."""
    allowed: Text = NOT_READ
    """Cpus_allowed_list of this process."""
    numa_nodes: Texts = NOT_READ
    """By node: its cpulist ('' = a node without processors)."""
    governors: Texts = NOT_READ
    """Distinct words of scaling_governor; () = no frequency scaling is shown."""
    memory_bytes: Count = NOT_READ
    available_bytes: Count = NOT_READ
    swap_bytes: Count = NOT_READ


class HostNames(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The host's name and what names resolve to, on this host."""

    hostname: Text = NOT_READ
    addresses: Texts = NOT_READ
    """What `hostname` resolves to, as getaddrinfo orders it; () = it does not resolve."""
    master_addr: Texts = NOT_READ
    """What $MASTER_ADDR resolves to; () = it does not resolve. Unknown when it is not set."""
    hosts_lines: Texts = NOT_READ
    """Lines of /etc/hosts that name this host or localhost, or $MASTER_ADDR."""
    nsswitch_hosts: Text = NOT_READ
    """The `hosts:` line of /etc/nsswitch.conf; '' = none."""


class Cloud(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What the firmware says about the maker. Source: /sys/class/dmi/id. No metadata service is called."""

    provider: str | Unknown | None = NOT_READ
    """aws, gcp, azure, oci; None = none of them. CoreWeave has no mark."""
    sys_vendor: Text = NOT_READ
    product_name: Text = NOT_READ
    """The instance type on AWS, e.g. `p5.48xlarge`."""
    product_version: Text = NOT_READ
    board_name: Text = NOT_READ
    chassis_asset_tag: Text = NOT_READ
    bios_vendor: Text = NOT_READ
    bios_version: Text = NOT_READ


class KernelClock(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The clock, as the kernel disciplines it. Source: adjtimex, which changes nothing."""

    time_s: Number = NOT_READ
    """Seconds since the epoch when the snapshot was taken."""
    synchronised: Flag = NOT_READ
    max_error_s: Number = NOT_READ
    """The kernel's own bound."""
    offset_s: Number = NOT_READ


class Services(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Daemons that matter, by their process names. Unknown in a PID namespace of one's own."""

    running: Texts = NOT_READ
    """Of: nv-fabricmanager, nvidia-imex, nvidia-persistenced, nv-hostengine, chronyd, ntpd, systemd-timesyncd,
    irqbalance, opensm, numad, firewalld. A name is complete here although the kernel cuts it at 15 letters."""
