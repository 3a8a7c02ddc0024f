"""Cases of nccltool/doctor/rules/process/preset_ranks.py."""

from tests.doctor.rules.base import host, of

CASES = (
    of(
        "LCH022",
        fires=[
            host({"LOCAL_RANK": "0", "MASTER_ADDR": "n1"}),
            host({"RANK": "0"}),
            host({"NODE_RANK": "0"}, nodes=1),
        ],
        silent=[
            host(),
            host({"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "8"}),
            host({"RANK": "0", "WORLD_SIZE": "8"}),
            host({"LOCAL_RANK": "0", "SLURM_LOCALID": "0"}),
            host({"NODE_RANK": "0"}),
            host({"NODE_RANK": "0", "NNODES": "1"}, nodes=1),
        ],
    ),
)
