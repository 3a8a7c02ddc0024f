"""Cases of nccltool/doctor/rules/shm.py."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.hosts.facts import Shm, ShmFile
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import NO_GPUS, container, named, namespaces, nvidia, shm

_MIB = 1 << 20
_STALE = ShmFile(name="nccl-abc", size_bytes=4 * _MIB, age_s=7200, uid=1000, mapped=False)
_USED = ShmFile(name="nccl-def", size_bytes=4 * _MIB, age_s=7200, uid=1000, mapped=True)
_HIDDEN = ShmFile(name="nccl-ghi", size_bytes=4 * _MIB, age_s=7200, uid=0, mapped=Unknown("other users"))
_MACHINE: dict[str, Any] = {"boot_id": "b1", "names": named("n1"), "shm": shm(), "container": container()}
_LOCKED = container(mempolicy=False)
_NET = tuple(container(namespaces=namespaces(net=f"net:[{number}]", ipc="ipc:[1]")) for number in (1, 2))

CASES = (
    of(
        "SHM001",
        fires=[host({"NCCL_SHM_DISABLE": "1"})],
        silent=[host(), host({"NCCL_SHM_DISABLE": "0"}), host({"NCCL_SHM_DISABLE": "2"})],
    ),
    of(
        "SHM002",
        fires=[host({"NCCL_SHM_DISABLE": "1", "NCCL_P2P_DISABLE": "1"})],
        silent=[host({"NCCL_P2P_DISABLE": "1"}), host({"NCCL_SHM_DISABLE": "1", "NCCL_P2P_DISABLE": "0"})],
    ),
    of(
        "SHM003",
        fires=[
            host(shm=shm(64 * _MIB)),
            host(shm=shm(64 * _MIB), local_ranks=None),
            host(shm=shm(1024 * _MIB, free_bytes=200 * _MIB)),
            host(shm=shm(1024 * _MIB, free_bytes=10 * _MIB)),
            host(shm=shm(64 * _MIB, free_bytes=Unknown("captured"))),
        ],
        silent=[
            host(shm=shm(1024 * _MIB)),
            host(shm=shm(), local_ranks=None),
            host(shm=shm(128 * _MIB), local_ranks=2),
            host(shm=Shm(exists=False)),
        ],
        unknown=[host(), host(shm=shm(512 * _MIB), local_ranks=None)],
    ),
    of(
        "SHM004",
        fires=[
            host(shm=Shm(exists=False)),
            host(shm=shm(writable=False)),
            host(shm=shm(fstype="ext4")),
            host(shm=shm(fstype="ext4", writable=Unknown("captured"))),
        ],
        silent=[host(shm=shm()), host(shm=shm(fstype="ramfs"))],
        unknown=[host(), host(shm=shm(writable=Unknown("not in a captured tree")))],
    ),
    of(
        "SHM005",
        fires=[host(shm=shm(nccl_files=(_STALE, _USED))), host(shm=shm(nccl_files=(_STALE,) * 9))],
        silent=[host(shm=shm()), host(shm=shm(nccl_files=(_USED,)))],
        unknown=[host(), host(shm=shm(nccl_files=(_HIDDEN,)))],
    ),
    of(
        "SHM006",
        fires=[
            (host(**_MACHINE), host(**{**_MACHINE, "names": named("pod-1")}, host="n2")),
            (host(**_MACHINE), host(**{**_MACHINE, "shm": shm(device=27)}, host="n2")),
            tuple(host(**{**_MACHINE, "container": one}) for one in _NET),
        ],
        silent=[
            host(**_MACHINE),
            (host(**_MACHINE), host(**_MACHINE, host="n2")),
            (host(**_MACHINE), host(**{**_MACHINE, "boot_id": "b2", "names": named("n2")}, host="n2")),
            tuple(host({"NCCL_IPC_USE_ABSTRACT_SOCKET": "0"}, **{**_MACHINE, "container": one}) for one in _NET),
        ],
        unknown=[(host(), host(host="n2")), (UNREAD, UNREAD)],
    ),
    of(
        "SHM007",
        fires=[
            host(nccl=(2, 25, 1), container=_LOCKED, nvidia=nvidia()),
            host(nccl=(2, 24, 3), container=_LOCKED, nvidia=nvidia(cuda=Unknown("no NVML"), driver="565.57.01")),
        ],
        silent=[
            host(nccl=(2, 25, 1), container=container(), nvidia=nvidia()),
            host({"NCCL_CUMEM_HOST_ENABLE": "0"}, nccl=(2, 25, 1), container=_LOCKED, nvidia=nvidia()),
            host(nccl=(2, 26, 5), container=_LOCKED, nvidia=nvidia()),
            host(nccl=(2, 23, 4), container=_LOCKED, nvidia=nvidia()),
            host(nccl=(2, 25, 1), container=_LOCKED, nvidia=nvidia(cuda="12.4")),
            host(nccl=(2, 25, 1), nvidia=NO_GPUS),
        ],
        unknown=[UNREAD, host(nvidia=nvidia()), host(nccl=None, container=_LOCKED, nvidia=nvidia())],
    ),
    of(
        "SHM008",
        fires=[(host(boot_id="b1", container=container()), host(boot_id="b1", container=_LOCKED, host="n2"))],
        silent=[
            (host(boot_id="b1", container=_LOCKED), host(boot_id="b1", container=_LOCKED, host="n2")),
            (host(boot_id="b1", container=container()), host(boot_id="b2", container=_LOCKED, host="n2")),
            tuple(
                host({"NCCL_CUMEM_HOST_ENABLE": "0"}, boot_id="b1", container=one)
                for one in (_LOCKED, container())
            ),
            tuple(host(boot_id="b1", container=one, nccl=(2, 23, 4)) for one in (_LOCKED, container())),
        ],
        unknown=[
            (host(container=container()), host(container=_LOCKED, host="n2")),
            (host(boot_id="b1"), host(boot_id="b1", host="n2")),
            tuple(host(boot_id="b1", container=one, nccl=None) for one in (_LOCKED, container())),
        ],
    ),
)
