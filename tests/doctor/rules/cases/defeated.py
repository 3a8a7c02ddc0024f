"""Cases of nccltool/doctor/rules/process/defeated.py."""

from tests.doctor.rules.base import host, of

_HOOK = {"TORCH_NCCL_USE_TENSOR_REGISTER_ALLOCATOR_HOOK": "1"}

CASES = (
    of(
        "CON010",
        fires=[
            host({"NCCL_SHARP_DISABLE": "1", "NCCL_COLLNET_ENABLE": "1"}),
            host({"NCCL_GIN_ENABLE": "0", "NCCL_GIN_TYPE": "2"}),
            host({"NCCL_CUMEM_ENABLE": "0", "NCCL_NVLS_ENABLE": "1"}),
            host({"NCCL_CUMEM_ENABLE": "0", **_HOOK}),
            host({"NCCL_TUNER_PLUGIN": "none", "OFI_NCCL_TUNER_TYPE": "Internal"}),
            host({"OMPI_MCA_pml": "ob1", "OMPI_MCA_mtl": "ofi"}),
            host(files={"system": "NCCL_WIN_ENABLE=0\nNCCL_SYM_CTAS=8\n"}),
        ],
        silent=[
            host(),
            host({"NCCL_SHARP_DISABLE": "1", "NCCL_COLLNET_ENABLE": "0"}),
            host({"NCCL_SHARP_DISABLE": "0", "NCCL_COLLNET_ENABLE": "1"}),
            host({"NCCL_CUMEM_ENABLE": "0", "NCCL_NVLS_ENABLE": "0"}),
            host({"NCCL_CUMEM_ENABLE": "0", "NCCL_NVLS_ENABLE": "2"}),
            host({"NCCL_NVLS_ENABLE": "0", "NCCL_NVLSTREE_MAX_CHUNKSIZE": "131072"}),
            host({"NCCL_GIN_ENABLE": "0", "NCCL_GIN_PLUGIN": "none"}),
            host({"OMPI_MCA_pml": "ob1", "OMPI_MCA_mtl": "^ofi"}),
        ],
    ),
    of(
        "CON011",
        fires=[
            host({"NCCL_IB_GID_INDEX": "3", "NVSHMEM_IB_GID_INDEX": "0"}),
            host({"PET_MASTER_ADDR": "n1", "MASTER_ADDR": "n2"}),
            host({"TORCH_FR_BUFFER_SIZE": "1000", "TORCH_NCCL_TRACE_BUFFER_SIZE": "2000"}),
            host({"NCCL_IB_TC": "106", "UCX_IB_TRAFFIC_CLASS": "0"}),
            host({"NCCL_IB_TC": "106", "MC_IB_TC": "0"}),
        ],
        silent=[
            host(),
            host({"NCCL_IB_GID_INDEX": "3", "NVSHMEM_IB_GID_INDEX": "3"}),
            host({"NCCL_IB_GID_INDEX": "3", "UCX_IB_GID_INDEX": "auto"}),
            host({"NCCL_IB_GID_INDEX": "3", "UCX_IB_GID_INDEX": ""}),
            host({"PET_MASTER_ADDR": "n1"}),
        ],
    ),
)
