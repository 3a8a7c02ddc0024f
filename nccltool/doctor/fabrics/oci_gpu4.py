"""Oracle Cloud BM.GPU4.8: A100 with 40 GB."""

from nccltool.doctor import oci_shapes

FABRIC = oci_shapes.fabric(
    "BM.GPU4.8",
    ("A100",),
    "0 2 6 8 10 12 14 16 1 3 7 9 11 13 15 17",
    ("NCCL_IB_QPS_PER_CONNECTION", "4", "spreads a connection over the paths of the network"),
)
