"""Cases of nccltool/doctor/rules/process/meeting.py."""

from tests.doctor.rules.base import host, of

_TWO = {"PET_NNODES": "2", "PET_RDZV_BACKEND": "c10d"}

CASES = (
    of(
        "RUN007",
        fires=[
            *(host({"PET_RDZV_ENDPOINT": text}) for text in ("http://n1:29500", "n1:x", "n1:70000", "n1 n2:1")),
            *(
                host({"PET_RDZV_CONF": text})
                for text in ("join_timeout:60", "timeout=", "=3", "is_host=maybe", "read_timeout=5s", "a=1,,b=2")
            ),
        ],
        silent=[
            host(),
            *(host({"PET_RDZV_ENDPOINT": text}) for text in ("n1:29500", "[::1]:29400", "[::1]", "$A:1")),
            *(host({"PET_RDZV_CONF": text}) for text in ("timeout=900,is_host=1", "store_type=file")),
        ],
    ),
    of(
        "RUN008",
        fires=[
            host(_TWO),
            host({**_TWO, "PET_MASTER_ADDR": "n1"}),
            host({"PET_NNODES": "1:4", "PET_RDZV_BACKEND": "etcd"}, nodes=None),
        ],
        silent=[
            host(),
            host({**_TWO, "PET_RDZV_ENDPOINT": "n1:29500"}),
            host({"PET_NNODES": "2", "PET_MASTER_ADDR": "n1"}),
            host({"PET_NNODES": "2"}),
            host({"PET_NNODES": "two", "PET_RDZV_BACKEND": "c10d"}),
            host({**_TWO, "PET_NNODES": "1"}),
            host(_TWO, nodes=1),
        ],
    ),
    of(
        "RUN009",
        fires=[host({"PET_RDZV_CONF": text}) for text in ("timeout=1", "read_timeout=9,join_timeout=30")],
        silent=[
            host(),
            *(host({"PET_RDZV_CONF": text}) for text in ("timeout=900", "read_timeout=5", "close_timeout=1")),
            host({"PET_RDZV_CONF": "timeout=1"}, nodes=1),
        ],
    ),
    of(
        "RUN010",
        fires=[
            host({"PET_NNODES": "4", "SLURM_JOB_NUM_NODES": "2"}),
            host({"PET_NNODES": "1", "SLURM_JOB_NUM_NODES": "2"}),
        ],
        silent=[
            host(),
            host({"PET_NNODES": "2", "SLURM_JOB_NUM_NODES": "2"}),
            host({"PET_NNODES": "1:4", "SLURM_JOB_NUM_NODES": "2"}),
            host({"PET_NNODES": "2", "SLURM_JOB_NUM_NODES": "4", "SLURM_STEP_NUM_NODES": "2"}),
            host({"SLURM_JOB_NUM_NODES": "2"}),
        ],
    ),
)
