"""Cases of nccltool/doctor/rules/process/workarounds.py."""

from tests.doctor.rules.base import host, of

CASES = (
    of(
        "PLG026",
        fires=[
            host({name: value})
            for name, value in (
                ("UCX_IB_GPU_DIRECT_RDMA", "no"),
                ("UCX_RNDV_THRESH", "inf"),
                ("MC_FORCE_TCP", "1"),
                ("FI_MR_CACHE_MAX_COUNT", "0"),
                ("HSA_ENABLE_SDMA", "0"),
                ("OFI_NCCL_MR_CACHE_DISABLE", "1"),
                ("I_MPI_OFI_PROVIDER", "tcp"),
            )
        ],
        silent=[
            host(),
            *(
                host({name: value})
                for name, value in (
                    ("UCX_IB_GPU_DIRECT_RDMA", "yes"),
                    ("UCX_RNDV_THRESH", "8192"),
                    ("FI_MR_CACHE_MAX_COUNT", "524288"),
                    ("HSA_ENABLE_SDMA", "1"),
                    ("FI_CXI_DISABLE_HOST_REGISTER", "1"),
                    ("I_MPI_OFI_PROVIDER", "mlx"),
                )
            ),
        ],
    ),
)
