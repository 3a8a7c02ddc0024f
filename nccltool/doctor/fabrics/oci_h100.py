"""Oracle Cloud BM.GPU.H100.8."""

from nccltool.doctor import oci_shapes

FABRIC = oci_shapes.fabric(
    "BM.GPU.H100.8",
    ("H100",),
    "0 1 3 4 5 6 7 8 9 10 12 13 14 15 16 17",
)
