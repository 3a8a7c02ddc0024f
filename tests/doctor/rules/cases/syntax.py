"""Cases of nccltool/doctor/rules/syntax.py."""

from tests.doctor.rules.base import host, of

CASES = (
    of(
        "SYN009",
        fires=[
            host({"NCCL_IB_HCA": '"mlx5_0"'}),
            host({"NCCL_DEBUG": "'INFO'"}),
            host({"NVSHMEM_HCA_LIST": '"mlx5_0:1"'}),
            host({"NCCL_DEBUG": "\u201cINFO\u201d"}),
            host(files={"system": "NCCL_SOCKET_IFNAME='eth0'"}),
        ],
        silent=[
            host(),
            host({"NCCL_IB_HCA": "mlx5_0"}),
            host({"PATH": '"/bin"'}),
            host({"OMPI_MCA_plm_rsh_args": '-o "BatchMode yes"'}),
        ],
    ),
    of(
        "SYN010",
        fires=[
            host({"NCCL_SOCKET_IFNAME": "eth0, eth1"}),
            host({"NCCL_SOCKET_IFNAME": "eth1 "}),
            host({"NCCL_ALGO": "Ring, Tree"}),
            host({"NCCL_IB_DISABLE": "1\r"}),
            host({"NCCL_IB_HCA": "mlx5\u20110"}),
            host(files={"system": "NCCL_IB_DISABLE=1\r\n"}, nccl=(2, 27, 7)),
        ],
        silent=[
            host(),
            host(
                {
                    "NCCL_NET": "AWS Libfabric",
                    "NCCL_DEBUG_TIMESTAMP_FORMAT": "[%F] ",
                    "NCCL_THREAD_THRESHOLDS": "1 2",
                }
            ),
            host(files={"system": "NCCL_IB_DISABLE=1\r\n"}, nccl=(2, 30, 7)),
        ],
    ),
    of(
        "SYN011",
        fires=[
            host({"NCCL_COLLNET_ENABLE": "true"}),
            host({"NCCL_IB_TIMEOUT": "long"}),
            host({"NCCL_NVLS_ENABLE": "-"}),
        ],
        silent=[
            host(),
            host({"NCCL_COLLNET_ENABLE": "1", "NCCL_BUFFSIZE": "0x400000", "NCCL_IB_HCA": "yes"}),
            host({"NCCL_IB_DISABLE": ""}),
        ],
    ),
    of(
        "SYN012",
        fires=[
            host({"NCCL_BUFFSIZE": "4M"}),
            host({"NCCL_BUFFSIZE": "4MiB"}),
            host({"NCCL_IB_TIMEOUT": "2.5"}),
            host({"NCCL_IB_TC": "106,84"}),
        ],
        silent=[host(), host({"NCCL_BUFFSIZE": "4194304", "NCCL_IB_TIMEOUT": " 22", "NCCL_IB_HCA": "4M"})],
    ),
    of(
        "SYN013",
        fires=[host({"NCCL_IB_TIMEOUT": "022"}), host({"NCCL_IB_TIMEOUT": "08"})],
        silent=[host(), host({"NCCL_IB_TIMEOUT": "22", "NCCL_IB_DISABLE": "0", "NCCL_IB_TC": "0x6a"})],
    ),
    of(
        "SYN014",
        fires=[
            host({"NCCL_MNNVL_ENABLE": "3"}),
            host({"NCCL_WORK_FIFO_BYTES": "9" * 20}),
            host({"NCCL_IB_ROCE_VERSION_NUM": "-1"}),
        ],
        silent=[
            host(),
            host({"NCCL_MNNVL_ENABLE": "2", "NCCL_IB_DISABLE": "7", "NCCL_IB_SL": "99", "NCCL_BUFFSIZE": "x"}),
        ],
    ),
    of(
        "SYN015",
        fires=[host({"NCCL_IB_DISABLE": "2"}), host({"NCCL_DMABUF_ENABLE": "-1"})],
        silent=[
            host(),
            host(
                {
                    "NCCL_IB_DISABLE": "1",
                    "NCCL_P2P_DISABLE": "2",
                    "NCCL_NVLS_ENABLE": "2",
                    "NCCL_CUMEM_ENABLE": "-2",
                }
            ),
        ],
    ),
    of(
        "SYN016",
        fires=[host({"NCCL_NET": ""}), host({"NCCL_SOCKET_IFNAME": ""})],
        silent=[host(), host({"NCCL_NET": "IB", "NCCL_DEBUG_TIMESTAMP_FORMAT": ""})],
    ),
    of(
        "SYN017",
        fires=[
            host({"TORCH_NCCL_BLOCKING_WAIT": "on"}),
            host({"NCCL_BLOCKING_WAIT": ""}),
            host({"TORCH_NCCL_NAN_CHECK": "2"}),
        ],
        silent=[host(), host({"TORCH_NCCL_BLOCKING_WAIT": "Yes", "NCCL_IB_DISABLE": "on"})],
    ),
    of(
        "SYN018",
        fires=[host({"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "ten"}), host({"TORCH_FR_BUFFER_SIZE": ""})],
        silent=[host(), host({"TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "600", "TORCH_NCCL_ASYNC_ERROR_HANDLING": "3"})],
    ),
    of(
        "SYN019",
        fires=[
            host({"NCCL_SOCKET_IFNAME": "eth*"}),
            host({"NCCL_IB_HCA": "mlx5_[0-3]"}),
            host({"GLOO_SOCKET_IFNAME": "en?s0"}),
        ],
        silent=[host(), host({"NCCL_SOCKET_IFNAME": "^=eth0,lo", "NCCL_IB_HCA": "=mlx5_0:1"})],
    ),
    of(
        "SYN020",
        fires=[
            host({"NCCL_IB_HCA": "mlx5_0,mlx5_1,mlx5_1"}),
            host({"CUDA_VISIBLE_DEVICES": "0,0"}),
            host({"NCCL_SOCKET_IFNAME": "=eth0,eth0"}),
        ],
        silent=[
            host(),
            host({"NCCL_IB_HCA": "mlx5_0,mlx5_1", "CUDA_VISIBLE_DEVICES": "", "NCCL_SOCKET_IFNAME": "^eth0"}),
        ],
    ),
    of(
        "SYN021",
        fires=[
            host({"FI_MR_CACHE_MONITOR": "memhook"}),
            host({"NCCL_IB_ADDR_FAMILY": "af_inet6"}),
            host({"GLOO_DEVICE_TRANSPORT": "IB"}),
        ],
        silent=[
            host(),
            host({"FI_MR_CACHE_MONITOR": "userfaultfd", "NCCL_IB_ADDR_FAMILY": "AF_INET6"}),
            host({"CUDA_DEVICE_ORDER": ""}),
        ],
    ),
    of(
        "SYN022",
        fires=[host({"NCCL_IB_HCA": "/dev/infiniband/uverbs0"}), host({"NCCL_SOCKET_IFNAME": "eth0,net/eth1"})],
        silent=[
            host(),
            host({"NCCL_IB_HCA": "mlx5_0:1,mlx5_1:1", "NCCL_SOCKET_IFNAME": "=eth0"}),
            host({"NCCL_SOCKET_IFNAME": "10.0.0.0/24"}),
        ],
    ),
)
