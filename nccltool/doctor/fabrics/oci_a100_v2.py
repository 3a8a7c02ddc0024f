"""Oracle Cloud BM.GPU.A100-v2.8 and BM.GPU.B4.8: A100 with 80 and 40 GB."""

from nccltool.doctor import oci_shapes

FABRIC = oci_shapes.fabric(
    "BM.GPU.A100-v2.8 and BM.GPU.B4.8",
    ("A100",),
    "1 2 3 4 5 6 7 8 14 15 16 17 9 10 11 12",
    ("NCCL_IB_QPS_PER_CONNECTION", "4", "spreads a connection over the paths of the network"),
)
