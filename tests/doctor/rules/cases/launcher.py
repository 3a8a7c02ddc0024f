"""Cases of nccltool/doctor/rules/launcher.py."""

from typing import Any

from nccltool.core.unknown import Unknown
from nccltool.doctor.rules.base import JudgedHost
from nccltool.hosts.facts import Address, Cpu, Kernel, Listener, Network
from tests.doctor.rules.base import UNREAD, host, of
from tests.doctor.rules.parts import NO_GPUS, container, limits, named, namespaces, nvidia

_STEP = {"SLURM_STEP_ID": "0", "TORCHELASTIC_RUN_ID": "7", "LOCAL_WORLD_SIZE": "8"}
_SUBMITTED = {"SLURM_SUBMIT_HOST": "login1.cluster.org", "SLURM_JOB_NODELIST": "n[01-04]"}
_HERE = Address(interface="eth0", address="10.0.0.1", family="AF_INET")


def _master(name: str, *addresses: str, **given: Any) -> JudgedHost:
    env = {"MASTER_ADDR": name, **given.pop("env", {})}
    return host(env, names=named(master_addr=addresses), **given)


def _first(name: str, *addresses: str, **given: Any) -> JudgedHost:
    """Where rank 0 runs."""
    env = {"RANK": "0", **given.pop("env", {})}
    return _master(name, *addresses, env=env, network=Network(addresses=(_HERE,)), **given)


def _port(port: str, *taken: int, addresses: tuple[str, ...] = ("10.0.0.1",), **given: Any) -> JudgedHost:
    """A host where these ports are listened on, and 32768 to 60999 are handed out."""
    listeners = tuple(Listener(address="0.0.0.0", port=one, uid=1000) for one in taken)
    parts: dict[str, Any] = {
        "container": container(),
        "network": Network(listeners=listeners, addresses=(_HERE,)),
        "kernel": _handing_out("32768\t60999"),
        "names": named(master_addr=addresses),
    }
    return host({"MASTER_PORT": port, **given.pop("env", {})}, **{**parts, **given})


def _handing_out(ports: str, reserved: str = "") -> Kernel:
    return Kernel(
        sysctls=namespaces(**{"net.ipv4.ip_local_port_range": ports, "net.ipv4.ip_local_reserved_ports": reserved})
    )


def _threads(count: str, cpuset: str = "0-63", **given: Any) -> JudgedHost:
    return host({"OMP_NUM_THREADS": count}, limits=limits(cpuset=cpuset), cpu=Cpu(allowed=cpuset), **given)


CASES = (
    of(
        "LCH001",
        fires=[
            host({"MASTER_ADDR": "localhost"}),
            host({"MASTER_ADDR": "127.0.0.1"}),
            host({"MASTER_ADDR": "[::1]"}),
            _master("n001", "127.0.1.1"),
            _master("n001", "127.0.1.1", env={"GROUP_RANK": "0"}),
        ],
        silent=[
            host(),
            host({"MASTER_ADDR": "localhost"}, nodes=1),
            _master("n001", "10.0.0.1"),
            _master("n001", "127.0.1.1", "10.0.0.1"),
            _master("n001"),
        ],
        unknown=[
            UNREAD,
            host({"MASTER_ADDR": "localhost"}, nodes=None),
            host({"MASTER_ADDR": "n001"}),
        ],
    ),
    of(
        "LCH002",
        fires=[_master("n001"), _master("n001", nodes=None)],
        silent=[
            host(),
            _master("n001", "10.0.0.1"),
            host({"MASTER_ADDR": "127.0.0.1"}),
            host({"MASTER_ADDR": ""}),
        ],
        unknown=[UNREAD, host({"MASTER_ADDR": "n001"})],
    ),
    of(
        "LCH003",
        fires=[
            *(_port(text) for text in ("80", "70000", "http", "-1", "40000")),
            _port("29500", 29500),
            _port("29500", kernel=_handing_out("1024 65535")),
            _port("0"),
            host({"MASTER_PORT": "57062"}),  # in the usual range
        ],
        silent=[
            host(),
            _port("29500"),
            _port("80", container=container(uid=0)),
            _port("29500", 29501),
            _port("29500", 29500, env={"RANK": "0"}),
            _port("29500", 29500, addresses=("10.0.0.2",)),
            _port("40000", kernel=_handing_out("32768 60999", "39000-41000")),
            _port("0", nodes=1),
        ],
        unknown=[
            UNREAD,
            _port("0", nodes=None),
            host({"MASTER_PORT": "29500"}),
            _port("29500", kernel=_handing_out("junk")),
        ],
    ),
    of(
        "LCH004",
        fires=[
            host({"RANK": "8", "WORLD_SIZE": "8"}),
            host({"LOCAL_RANK": "9", "LOCAL_WORLD_SIZE": "8"}),
            host({"NODE_RANK": "2", "NNODES": "2"}),
            host({"RANK": "-1", "WORLD_SIZE": "8"}),
            host({"RANK": "x", "WORLD_SIZE": "8"}),
        ],
        silent=[
            host(),
            host({"RANK": "7", "WORLD_SIZE": "8", "LOCAL_RANK": "7", "LOCAL_WORLD_SIZE": "8"}),
            host({"RANK": "8"}),
            host({"NODE_RANK": "2", "NNODES": "1:4"}),
            host({"NODE_RANK": "n2", "NNODES": "2"}),
        ],
    ),
    of(
        "LCH009",
        fires=[tuple(host({"RANK": rank}, host=f"n{rank}") for rank in ("0", "0", "1"))],
        silent=[
            tuple(host({"RANK": rank}, host=f"n{rank}") for rank in ("0", "1")),
            (host(), host(host="n2")),
        ],
        unknown=[(UNREAD, UNREAD)],
    ),
    of(
        "LCH005",
        fires=[
            host({"NVIDIA_VISIBLE_DEVICES": "0,1"}),
            host({"CUDA_VISIBLE_DEVICES": "0,1,2,3"}, nvidia=nvidia(4)),
            host({"LOCAL_WORLD_SIZE": "16"}, local_ranks=None, nvidia=nvidia()),
            host({"CUDA_VISIBLE_DEVICES": "0,1,2,3"}),
            host({"HIP_VISIBLE_DEVICES": "0,1", "LOCAL_WORLD_SIZE": "4"}, local_ranks=None),
            host({"SLURM_GPUS_ON_NODE": "4", "PET_NPROC_PER_NODE": "8"}, local_ranks=None),
        ],
        silent=[
            host({"SLURM_GPUS_ON_NODE": "4", "SLURM_NTASKS_PER_NODE": "48"}, local_ranks=48, nvidia=NO_GPUS),
            host({"SLURM_GPUS_ON_NODE": "8", "PET_NPROC_PER_NODE": "8"}, nvidia=nvidia()),
            host(nvidia=nvidia()),
            host(nvidia=nvidia(visible_gpus=1)),
            host({"NCCL_MULTI_RANK_GPU_ENABLE": "1"}, nvidia=nvidia(4)),
            host(nvidia=NO_GPUS),
            host(nvidia=nvidia(4), local_ranks=None),
        ],
        unknown=[
            UNREAD,
            host(),
            host({"CUDA_VISIBLE_DEVICES": "0"}),
            host({"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}),
            host(nvidia=nvidia(visible_gpus=Unknown("/dev cannot be read"))),
        ],
    ),
    of(
        "LCH006",
        fires=[
            host({"WORLD_SIZE": "8", "SLURM_NTASKS": "16", "SLURM_PROCID": "3"}),
            host({"WORLD_SIZE": "8", "OMPI_COMM_WORLD_SIZE": "16", "OMPI_COMM_WORLD_RANK": "3"}),
        ],
        silent=[
            host(),
            host({"WORLD_SIZE": "16", "SLURM_NTASKS": "16", "SLURM_PROCID": "3"}),
            host({"WORLD_SIZE": "8", "SLURM_NTASKS": "1", "SLURM_PROCID": "0", "TORCHELASTIC_RUN_ID": "7"}),
            host({"SLURM_NTASKS": "16", "SLURM_PROCID": "3"}),
        ],
    ),
    of(
        "LCH007",
        fires=[_threads("32"), _threads("9"), _threads("4", "0-15", local_ranks=5)],
        silent=[host(), _threads("8"), _threads("1", "0-3"), _threads("many")],
        unknown=[UNREAD, _threads("8", local_ranks=None), host({"OMP_NUM_THREADS": "8"})],
    ),
    of(
        "LCH008",
        fires=[host({"OMP_NUM_THREADS": "1", "TORCHELASTIC_RUN_ID": "7"})],
        silent=[
            host(),
            host({"OMP_NUM_THREADS": "1"}),
            host({"OMP_NUM_THREADS": "8", "TORCHELASTIC_RUN_ID": "7"}),
        ],
    ),
    of(
        "LCH010",
        fires=[
            host({"WORLD_SIZE": "1"}),
            host({"WORLD_SIZE": "0"}),
            host({"NNODES": "0"}),
            host({"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "16"}),
        ],
        silent=[
            host(),
            host({"WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8", "NNODES": "2"}),
            host({"NNODES": "1:4"}),
            host({"LOCAL_WORLD_SIZE": "8"}),
        ],
    ),
    of(
        "LCH011",
        fires=[
            host({"MASTER_ADDR": "10.0.0.256"}),
            *(host({"MASTER_ADDR": text}) for text in ("10.0.0.1:29500", "tcp://n1", "n1,n2", "n[1-4]", " n1")),
            *(host({"MASTER_ADDR": text}) for text in ("0.0.0.0", "::", "224.0.0.1", "255.255.255.255")),
            host({"MASTER_ADDR": "n1:29500"}, nodes=None),
        ],
        silent=[
            host(),
            *(host({"MASTER_ADDR": text}) for text in ("10.0.0.1", "n1.cluster.local.", "[fd00::1]")),
            *(host({"MASTER_ADDR": text}) for text in ("fe80::1%eth0", "localhost", "job_0-master", "")),
            host({"MASTER_ADDR": "0.0.0.0"}, nodes=1),
        ],
        unknown=[UNREAD, host({"MASTER_ADDR": "0.0.0.0"}, nodes=None)],
    ),
    of(
        "LCH012",
        fires=[host({"OMP_NUM_THREADS": text}) for text in ("0", "auto", "-4", "8.5", "4 8", "4,")],
        silent=[host(), *(host({"OMP_NUM_THREADS": text}) for text in ("1", "16", "8,4", ""))],
    ),
    of(
        "LCH013",
        fires=[host({"MASTER_ADDR": ""}), host({"MASTER_PORT": " "})],
        silent=[host(), host({"MASTER_ADDR": "n1", "MASTER_PORT": "29500"})],
    ),
    of(
        "LCH023",
        fires=[
            host({**_STEP, "SLURM_STEP_NUM_TASKS": "16", "SLURM_STEP_NUM_NODES": "2"}),
            host({**_STEP, "SLURM_NTASKS_PER_NODE": "8"}),
            host({**_STEP, "SLURM_NTASKS": "8", "SLURM_JOB_NUM_NODES": "1"}),
            host({"PET_NPROC_PER_NODE": "8", "SLURM_NTASKS_PER_NODE": "8"}, nodes=1),
        ],
        silent=[
            host(),
            host(
                {**_STEP, "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NUM_NODES": "2", "SLURM_NTASKS_PER_NODE": "8"}
            ),
            host({**_STEP, "SLURM_NTASKS": "2", "SLURM_JOB_NUM_NODES": "2"}),
            host({**_STEP, "SLURM_NTASKS_PER_NODE": "8", "LOCAL_WORLD_SIZE": "1"}),
            host({"TORCHELASTIC_RUN_ID": "7", "LOCAL_WORLD_SIZE": "8", "SLURM_NTASKS_PER_NODE": "8"}),
            host({"SLURM_NTASKS_PER_NODE": "8", "LOCAL_WORLD_SIZE": "8"}),
        ],
    ),
    of(
        "LCH024",
        fires=[_first("n1", "10.0.0.7"), _first("n1", "10.0.0.7", env={"WORLD_SIZE": "8"})],
        silent=[
            host(),
            _first("n1", "10.0.0.1"),
            _first("n1", "10.0.0.7", env={"RANK": "1"}),
            _first("n1", "127.0.1.1"),
            _first("n1"),
            _first("n1", "10.0.0.7", nodes=1),
            _first("job-master-0", "10.96.0.7", env={"KUBERNETES_SERVICE_HOST": "10.96.0.1"}),
        ],
        unknown=[UNREAD, host({"MASTER_ADDR": "n1", "RANK": "0"}), _first("n1", "10.0.0.7", nodes=None)],
    ),
    of(
        "LCH025",
        fires=[host({**_SUBMITTED, "MASTER_ADDR": name}) for name in ("login1", "login1.cluster.org")],
        silent=[
            host(),
            host({**_SUBMITTED, "MASTER_ADDR": "n01"}),
            host({**_SUBMITTED, "MASTER_ADDR": "login1", "SLURM_JOB_NODELIST": "login[1-2]"}),
            host({**_SUBMITTED, "MASTER_ADDR": "login1", "SLURM_JOB_NODELIST": "n[1-"}),
            host({"SLURM_SUBMIT_HOST": "login1", "MASTER_ADDR": "login1"}),
        ],
    ),
)
