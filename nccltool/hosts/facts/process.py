"""What a process of a host may do and has: limits, shared memory, container."""

import msgspec

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts.leaves import NOT_READ, Count, Flag, Limit, Setting, Text, Texts, known


class ShmFile(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A file nccl-* in /dev/shm."""

    name: str
    size_bytes: int
    age_s: float
    """Since its last change, when the snapshot was taken."""
    uid: int
    mapped: Flag = NOT_READ
    """A process has it mapped."""


class Shm(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The shared memory of this mount namespace. Source: statvfs of /dev/shm."""

    exists: Flag = NOT_READ
    fstype: Text = NOT_READ
    size_bytes: Count = NOT_READ
    free_bytes: Count = NOT_READ
    """What this user may still use."""
    writable: Flag = NOT_READ
    device: Count = NOT_READ
    """st_dev: equal for processes that share it."""
    nccl_files: tuple[ShmFile, ...] | Unknown = NOT_READ
    """At most 64, the oldest first."""


class ProcessLimits(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Limits of this process. None = unlimited. Source: /proc/self/limits, cgroup files, /proc/meminfo."""

    nofile_soft: Limit = NOT_READ
    nofile_hard: Limit = NOT_READ
    memlock_soft_bytes: Limit = NOT_READ
    memlock_hard_bytes: Limit = NOT_READ
    stack_soft_bytes: Limit = NOT_READ
    stack_hard_bytes: Limit = NOT_READ
    nproc_soft: Limit = NOT_READ
    nproc_hard: Limit = NOT_READ
    address_space_soft_bytes: Limit = NOT_READ
    core_soft_bytes: Limit = NOT_READ
    cgroup_version: Count = NOT_READ
    """1 or 2; a hybrid mount counts as 1."""
    cgroup_path: Text = NOT_READ
    pids_max: Limit = NOT_READ
    """The smallest on the way to the root of what is visible here; so are the next three."""
    pids_current: Count = NOT_READ
    memory_max_bytes: Limit = NOT_READ
    cpu_cores: float | Unknown | None = NOT_READ
    """Quota / period; None = unlimited."""
    oom_events: Count = NOT_READ
    """`oom` of memory.events (v2), or oom_kill of memory.oom_control (v1)."""
    cpuset: Text = NOT_READ
    """cpuset.cpus.effective."""
    hugepages_total: Count = NOT_READ
    hugepages_free: Count = NOT_READ
    hugepage_bytes: Count = NOT_READ
    remove_ipc: Flag = NOT_READ
    """logind removes a user's /dev/shm files at log-out: RemoveIPC of /etc/systemd/logind.conf and logind.conf.d;
    yes unless a file says no. Unknown without logind's files."""


class DeviceFile(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A device file, and what this user may do with it."""

    path: str
    readable: Flag = NOT_READ
    writable: Flag = NOT_READ
    """/dev/infiniband/uverbs* is really opened: a cgroup may forbid what the mode allows."""


class Container(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What this process may do and see."""

    inside: Flag = NOT_READ
    runtime: Text = NOT_READ
    """docker, podman, kubernetes, enroot, apptainer, lxc, systemd-nspawn, other; '' = not in a container."""
    evidence: str = ""
    """What told: a file or a mount."""
    uid: Count = NOT_READ
    capabilities: Count = NOT_READ
    """Effective; bit 14 = CAP_IPC_LOCK, bit 21 = CAP_SYS_ADMIN, bit 23 = CAP_SYS_NICE."""
    bounding: Count = NOT_READ
    seccomp: Count = NOT_READ
    """0 off, 1 strict, 2 filter."""
    no_new_privs: Flag = NOT_READ
    user_namespace: Flag = NOT_READ
    """uid_map is not the identity over all ids."""
    pid_namespace: Flag = NOT_READ
    """Not the host's initial PID namespace: daemons of the host are not visible."""
    namespaces: tuple[Setting, ...] = ()
    """By name (net, ipc, pid, mnt, uts, user, cgroup): the link of /proc/self/ns, e.g. `net:[4026531840]`."""
    devices: tuple[DeviceFile, ...] | Unknown = NOT_READ
    """/dev/infiniband/*, /dev/nvidia*, /dev/nvidia-caps*/*, /dev/gdrdrv, /dev/kfd, /dev/dri/render*, ..."""
    mempolicy: Flag = NOT_READ
    """NUMA system calls (get_mempolicy) are allowed."""

    def device(self, path: str) -> DeviceFile | None:
        """The device file; None = there is none. Raises NotKnown when /dev could not be listed."""
        return next((one for one in known(self.devices) if one.path == path), None)

    def namespace(self, name: str) -> Text:
        return next((one.value for one in self.namespaces if one.name == name), NOT_READ)


class ProcessFacts(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The process whose environment this is. Source: /proc/<pid>."""

    communicators: Count = NOT_READ
    """Its threads `NCCL Service`, one for each communicator that shares no resources. NCCL names its threads only
    with NCCL_SET_THREAD_NAME=1."""
    changed: Texts = NOT_READ
    """Variables NCCL_* that it has set, changed or removed since it was started."""
