"""The place of a rank, from the variables that launchers set."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch import inside
from nccltool.launch.inside import UNNUMBERED, RankPlace

TORCHRUN = {
    "LOCAL_RANK": "1",
    "RANK": "3",
    "GROUP_RANK": "1",
    "ROLE_RANK": "3",
    "ROLE_NAME": "default",
    "LOCAL_WORLD_SIZE": "2",
    "WORLD_SIZE": "4",
    "GROUP_WORLD_SIZE": "2",
    "ROLE_WORLD_SIZE": "4",
    "MASTER_ADDR": "node-a",
    "MASTER_PORT": "29501",
    "TORCHELASTIC_RESTART_COUNT": "0",
    "TORCHELASTIC_MAX_RESTARTS": "0",
    "TORCHELASTIC_RUN_ID": "job1",
    "TORCHELASTIC_USE_AGENT_STORE": "True",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING": "1",
}
TORCHRUN_PLACE = RankPlace(
    launcher="torchrun",
    rank=3,
    world_size=4,
    local_rank=1,
    local_world_size=2,
    node_rank=1,
    store_host="node-a",
    store_port=29501,
    store_is_hosted=True,
)

OPEN_MPI = {
    "OMPI_COMM_WORLD_SIZE": "2",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_NODE_RANK": "1",
    "OMPI_UNIVERSE_SIZE": "2",
    "OMPI_MCA_ess_base_jobid": "2263482369",
    "OMPI_MCA_ess_base_vpid": "1",
    "PMIX_RANK": "1",
    "PMIX_NAMESPACE": "2263482369",
}
OPEN_MPI_PLACE = RankPlace(
    launcher="mpirun",
    rank=1,
    world_size=2,
    local_rank=1,
    local_world_size=2,
    node_rank=0,
    store_host="127.0.0.1",
    store_port=31792,
    store_is_hosted=False,
)

OPEN_MPI_ON_TWO = {
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "OMPI_COMM_WORLD_RANK": "2",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_NODE_RANK": "1",
    "OMPI_MCA_ess_base_jobid": "923926529",
    "OMPI_MCA_orte_hnp_uri": "923926528.0;tcp://10.77.0.1,192.168.7.1:59915",
    "OMPI_MCA_orte_local_daemon_uri": "923926528.0;tcp://10.77.0.1:59915",
    "OMPI_MCA_orte_num_nodes": "2",
    "OMPI_MCA_rmaps_base_mapping_policy": "node",
    "PMIX_NAMESPACE": "923926529",
    "PMIX_SERVER_URI41": "923926528.0;tcp4://127.0.0.1:33743",
}
"""Open MPI 4.1.4, --map-by node: ranks 0 and 2 are on n1, 1 and 3 on n2."""
OPEN_MPI_ON_TWO_PLACE = RankPlace(
    launcher="mpirun",
    rank=2,
    world_size=4,
    local_rank=1,
    local_world_size=2,
    node_rank=0,
    store_host="10.77.0.1",
    store_port=29268,
    store_is_hosted=False,
)
OTHER_DAEMON = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    "OMPI_MCA_orte_local_daemon_uri": "923926528.1;tcp://10.77.0.2:49649",
    "PMIX_SERVER_URI41": "923926528.1;tcp4://127.0.0.1:39571",
}
OPEN_MPI_5 = {
    "OMPI_COMM_WORLD_SIZE": "3",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "1",
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_RANK": "0",
    "OMPI_COMM_WORLD_NODE_RANK": "0",
    "PMIX_NAMESPACE": "prterun-gpu-n1-12868@1",
    "PMIX_RANK": "1",
    "PMIX_SERVER_URI2": "prterun-gpu-n1-12868@0.1;tcp4://127.0.0.1:60769",
    "PMIX_SERVER_URI41": "prterun-gpu-n1-12868@0.1;tcp4://127.0.0.1:60769",
}
OPEN_MPI_5_PLACE = RankPlace(
    launcher="mpirun",
    rank=1,
    world_size=3,
    local_rank=0,
    local_world_size=1,
    node_rank=1,
    store_host="gpu-n1",
    store_port=27921,
    store_is_hosted=False,
)

HYDRA = {
    "PMI_RANK": "3",
    "PMI_FD": "9",
    "PMI_SIZE": "4",
    "PMI_ID": "3",
    "MPI_LOCALNRANKS": "2",
    "MPI_LOCALRANKID": "1",
    "GFORTRAN_UNBUFFERED_PRECONNECTED": "y",
}
HYDRA_PLACE = RankPlace(
    launcher="mpiexec",
    rank=3,
    world_size=4,
    local_rank=1,
    local_world_size=2,
    node_rank=UNNUMBERED,
    store_host="node-a",
    store_port=29500,
    store_is_hosted=False,
)

SRUN = {
    "SLURM_JOB_ID": "4711",
    "SLURM_JOB_NODELIST": "gpu[003-005]",
    "SLURM_NTASKS": "4",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "gpu[003-004]",
    "SLURM_STEP_NUM_NODES": "2",
    "SLURM_STEP_NUM_TASKS": "4",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
    "SLURM_PROCID": "2",
    "SLURM_LOCALID": "0",
    "SLURM_NODEID": "1",
}
SRUN_PLACE = RankPlace(
    launcher="srun",
    rank=2,
    world_size=4,
    local_rank=0,
    local_world_size=2,
    node_rank=1,
    store_host="gpu003",
    store_port=22573,
    store_is_hosted=False,
)

PMI2 = {"PMI_FD": "12", "PMI_JOBID": "4711.0", "PMI_RANK": "2", "PMI_SIZE": "4"}
"""What srun --mpi=pmi2 adds: no local rank among it."""

ONE_PROXY_A_NODE = {
    **SRUN,
    "SLURM_STEP_NUM_TASKS": "2",
    "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
    "SLURM_PROCID": "1",
}
"""What ranks of Hydra inherit when it starts its proxies with srun."""

FLUX = {
    "FLUX_JOB_ID": "f2RA",
    "FLUX_JOB_NNODES": "2",
    "FLUX_JOB_SIZE": "4",
    "FLUX_TASK_LOCAL_ID": "1",
    "FLUX_TASK_RANK": "3",
    "FLUX_URI": "local:///run/flux/local",
    "PMI_RANK": "3",
    "PMI_SIZE": "4",
    "PMI_FD": "12",
    "MASTER_ADDR": "node-a",
}
PALS = {
    "PALS_RANKID": "3",
    "PALS_LOCAL_RANKID": "1",
    "PALS_LOCAL_SIZE": "2",
    "PALS_NODEID": "1",
    "PALS_APID": "c7",
    "PMI_RANK": "3",
    "PMI_SIZE": "4",
    "PMI_LOCAL_RANK": "1",
    "PMI_LOCAL_SIZE": "2",
    "MASTER_ADDR": "node-a",
}
"""mpiexec of an HPE Cray machine."""


@pytest.mark.parametrize(
    ("env", "endpoint", "place"),
    [
        pytest.param(TORCHRUN, "", TORCHRUN_PLACE, id="torchrun"),
        pytest.param(
            {**TORCHRUN, "TORCHELASTIC_USE_AGENT_STORE": "False"},
            "",
            replace(TORCHRUN_PLACE, store_is_hosted=False),
            id="torchrun with a static rendezvous",
        ),
        pytest.param({**TORCHRUN, **OPEN_MPI}, "", TORCHRUN_PLACE, id="torchrun under mpirun"),
        pytest.param({**TORCHRUN, **SRUN}, "", TORCHRUN_PLACE, id="torchrun under srun"),
        pytest.param(OPEN_MPI, "", OPEN_MPI_PLACE, id="Open MPI on one host"),
        pytest.param(
            {**OPEN_MPI, "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"},
            "node-a:29500",
            replace(
                OPEN_MPI_PLACE,
                rank=3,
                world_size=4,
                node_rank=UNNUMBERED,
                store_host="node-a",
                store_port=29500,
            ),
            id="Open MPI of old, on two hosts, with an endpoint",
        ),
        pytest.param(OPEN_MPI_ON_TWO, "", OPEN_MPI_ON_TWO_PLACE, id="Open MPI 4, dealt out by node"),
        pytest.param(
            {**OPEN_MPI_ON_TWO, **OTHER_DAEMON},
            "",
            replace(OPEN_MPI_ON_TWO_PLACE, rank=1, local_rank=0, node_rank=1),
            id="Open MPI 4 on the other host",
        ),
        pytest.param(
            {**OPEN_MPI_ON_TWO, "OMPI_MCA_orte_hnp_uri": "1.0;tcp6://[fd00::1,fd00::2]:59915"},
            "",
            replace(OPEN_MPI_ON_TWO_PLACE, store_host="fd00::1"),
            id="Open MPI 4 over IPv6",
        ),
        pytest.param(OPEN_MPI_5, "", OPEN_MPI_5_PLACE, id="Open MPI 5"),
        pytest.param({**OPEN_MPI, **SRUN}, "", OPEN_MPI_PLACE, id="Open MPI under srun"),
        pytest.param({**HYDRA, "MASTER_ADDR": "node-a"}, "", HYDRA_PLACE, id="MPICH"),
        pytest.param({**HYDRA, **ONE_PROXY_A_NODE}, "node-a:29500", HYDRA_PLACE, id="MPICH through srun"),
        pytest.param(
            {"PMI_RANK": "0", "PMI_SIZE": "2"},
            "[fe80::1]:29500",
            replace(
                HYDRA_PLACE,
                rank=0,
                world_size=2,
                local_rank=0,
                local_world_size=1,
                node_rank=0,
                store_host="fe80::1",
            ),
            id="a process manager that says only PMI_RANK",
        ),
        pytest.param(FLUX, "", replace(HYDRA_PLACE, launcher="flux run"), id="Flux"),
        pytest.param(PALS, "", replace(HYDRA_PLACE, node_rank=1), id="mpiexec of HPE Cray"),
        pytest.param(SRUN, "", SRUN_PLACE, id="srun"),
        pytest.param({**SRUN, **PMI2}, "", SRUN_PLACE, id="srun --mpi=pmi2"),
        pytest.param(
            {**SRUN, "MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "12345"},
            "",
            replace(SRUN_PLACE, store_host="10.0.0.7", store_port=12345),
            id="srun with MASTER_ADDR",
        ),
        pytest.param(
            {**SRUN, "MASTER_ADDR": "10.0.0.7"},
            "node-a:1",
            replace(SRUN_PLACE, store_host="node-a", store_port=1),
            id="an endpoint is stronger than MASTER_ADDR",
        ),
        pytest.param(
            {**SRUN, "SLURM_STEP_TASKS_PER_NODE": "3,1", "SLURM_PROCID": "3"},
            "",
            replace(SRUN_PLACE, rank=3, local_world_size=1),
            id="srun with unequal nodes",
        ),
        pytest.param(
            {
                **SRUN,
                "SLURM_STEP_NUM_TASKS": "2",
                "SLURM_STEP_TASKS_PER_NODE": "2",
                "SLURM_PROCID": "1",
                "SLURM_NODEID": "0",
            },
            "",
            replace(SRUN_PLACE, rank=1, world_size=2, node_rank=0, store_host="127.0.0.1"),
            id="srun on one node",
        ),
    ],
)
def test_launchers(env: Mapping[str, str], endpoint: str, place: RankPlace) -> None:
    assert inside.detect(env, endpoint) == place


@pytest.mark.parametrize(
    "env",
    [
        pytest.param({}, id="nothing"),
        pytest.param({**SRUN, "SLURM_STEP_ID": "4294967291"}, id="a batch script (sbatch)"),
        pytest.param({**SRUN, "SLURM_STEP_ID": "4294967290"}, id="an interactive step (salloc)"),
        pytest.param({**SRUN, "SLURM_STEP_NUM_TASKS": "1"}, id="a step of one task (srun --pty bash)"),
        pytest.param({"SLURM_JOB_ID": "4711", "SLURM_NTASKS": "4", "SLURM_PROCID": "0"}, id="no step at all"),
        pytest.param({"RANK": "0", "WORLD_SIZE": "1"}, id="variables of another program"),
        pytest.param({"LOCAL_RANK": "0", "RANK": "0"}, id="half of torchrun"),
        pytest.param({"FLUX_TASK_RANK": "0", "FLUX_JOB_SIZE": "1"}, id="a job of one task (flux run --pty bash)"),
        pytest.param({"MASTER_ADDR": "node-a"}, id="an address alone"),
    ],
)
def test_no_launcher(env: Mapping[str, str]) -> None:
    assert inside.detect(env) is None


@pytest.mark.parametrize(
    ("env", "message"),
    [
        ({**TORCHRUN, "RANK": ""}, "the launcher's variable RANK='' is not a number"),
        ({**TORCHRUN, "RANK": "x"}, "the launcher's variable RANK='x' is not a number"),
        ({**TORCHRUN, "RANK": "-1"}, "the launcher's variable RANK='-1' is not a number"),
        ({**TORCHRUN, "RANK": "1x"}, "the launcher's variable RANK='1x' is not a number"),
        (
            {**TORCHRUN, "RANK": "1" * 5000},
            f"the launcher's variable RANK='{'1' * 80}... (5000 characters)' is not a number",
        ),
        ({**TORCHRUN, "RANK": "4"}, "inconsistent launcher variables: RANK=4 but WORLD_SIZE=4"),
        ({**TORCHRUN, "WORLD_SIZE": "0"}, "inconsistent launcher variables: RANK=3 but WORLD_SIZE=0"),
        ({**TORCHRUN, "MASTER_PORT": "http"}, "the launcher's variable MASTER_PORT='http' is not a number"),
        ({**SRUN, "SLURM_STEP_ID": "batch"}, "the launcher's variable SLURM_STEP_ID='batch' is not a number"),
        (
            {**SRUN, "SLURM_STEP_TASKS_PER_NODE": "(x2)"},
            "the launcher set SLURM_STEP_TASKS_PER_NODE='(x2)' on node 1",
        ),
        (
            {**SRUN, "SLURM_STEP_TASKS_PER_NODE": "4"},
            "the launcher set SLURM_STEP_TASKS_PER_NODE='4' on node 1",
        ),
        ({**SRUN, "SLURM_STEP_NODELIST": ",n2"}, "',n2' is not a node list"),
        (HYDRA, "mpiexec does not report the address of rank 0"),
        ({**OPEN_MPI, "OMPI_COMM_WORLD_SIZE": "4"}, "mpirun does not report the address of rank 0"),
        (
            {**OPEN_MPI_ON_TWO, **OTHER_DAEMON, "OMPI_COMM_WORLD_RANK": "0"},  # mpirun is on a login node
            "mpirun does not report the address of rank 0",
        ),
    ],
)
def test_damaged_or_lacking_variables(env: Mapping[str, str], message: str) -> None:
    with pytest.raises(BadInput) as error:
        inside.detect(env)
    assert error.value.message == message
    assert error.value.remedy


@pytest.mark.parametrize("env", [HYDRA, {**HYDRA, "PMI_JOBID": "kvs_1"}, OPEN_MPI_ON_TWO, OPEN_MPI_5])
def test_ranks_of_mpi_agree_on_the_port(env: Mapping[str, str]) -> None:
    """PMI_ID, say, is the number of a process."""
    own = ("PMI_RANK", "PMI_ID", "PMI_FD", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
    one_node = {"MPI_LOCALNRANKS": "4", "OMPI_COMM_WORLD_LOCAL_SIZE": "4", "OMPI_COMM_WORLD_SIZE": "4"}
    places = [inside.detect({**env, **one_node, **{name: rank for name in own if name in env}}) for rank in "0123"]
    assert len({place.store_port for place in places if place}) == 1
    assert [place.rank for place in places if place] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("place", "visible", "device"),
    [
        (TORCHRUN_PLACE, 8, 1),
        (TORCHRUN_PLACE, 1, 0),  # several take it
        (replace(TORCHRUN_PLACE, nodes_here=2), 8, 5),  # the first of the second half, and the next one
        (replace(TORCHRUN_PLACE, nodes_here=2), 4, 3),
        (replace(TORCHRUN_PLACE, nodes_here=2), 1, 0),
        (SRUN_PLACE, 8, 0),
        (replace(SRUN_PLACE, local_rank=3), 8, 3),
        (replace(SRUN_PLACE, local_rank=3), 1, 0),  # --gpus-per-task=1
        (replace(SRUN_PLACE, local_rank=3), 2, 1),  # --gpus-per-task=2
        (replace(OPEN_MPI_PLACE, local_rank=1), 1, 0),
    ],
)
def test_the_gpu_of_a_rank(place: RankPlace, visible: int, device: int) -> None:
    assert place.device(visible) == device


def test_ranks_of_one_job_agree_on_the_port_and_jobs_do_not_share_it() -> None:
    ports = {
        job: {place.store_port for rank in "0123" if (place := inside.detect({**SRUN, **job_of(job, rank)}))}
        for job in ("4711", "4712", "4713")
    }
    assert all(len(of_job) == 1 for of_job in ports.values())
    assert len(set.union(*ports.values())) == 3
    assert all(20000 <= port < 40000 for port in set.union(*ports.values()))


def job_of(job: str, rank: str) -> dict[str, str]:
    return {"SLURM_JOB_ID": job, "SLURM_PROCID": rank}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("node1:29500", ("node1", 29500)),
        ("192.0.2.7:1", ("192.0.2.7", 1)),
        ("[2001:db8::1]:65535", ("2001:db8::1", 65535)),
    ],
)
def test_endpoints(text: str, address: tuple[str, int]) -> None:
    assert inside.parse_endpoint(text) == address


@pytest.mark.parametrize(
    "text", ["node1", "node1:", ":29500", "node1:0", "node1:65536", "node1:http", "node1:-1", ""]
)
def test_what_is_not_an_endpoint(text: str) -> None:
    with pytest.raises(BadInput) as error:
        inside.parse_endpoint(text)
    assert error.value.message == f"--rdzv-endpoint {text!r} is not HOST:PORT"
    assert error.value.remedy == "for example --rdzv-endpoint node1:29500"


@pytest.mark.parametrize(
    ("nodelist", "host"),
    [
        ("n1", "n1"),
        ("n[3-7,9]", "n3"),
        ("gpu-a[003-031]", "gpu-a003"),
        ("gpu003,login1", "gpu003"),
        ("a,b[1-2]", "a"),
        ("rack1-n[08,10],rack2-n1", "rack1-n08"),
    ],
)
def test_the_first_host_of_a_node_list(nodelist: str, host: str) -> None:
    assert inside.first_host(nodelist) == host
