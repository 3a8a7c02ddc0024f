"""Oracle Cloud BM.GPU.B300.8."""

from nccltool.doctor import oci_shapes

FABRIC = oci_shapes.fabric(
    "BM.GPU.B300.8",
    ("B300",),
    "0 1 7 8 9 10 11 12 13 14 16 17 18 19 20 21",
)
