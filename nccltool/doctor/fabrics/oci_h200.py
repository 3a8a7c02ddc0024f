"""Oracle Cloud BM.GPU.H200.8 and BM.GPU.B200.8."""

from nccltool.doctor import oci_shapes

FABRIC = oci_shapes.fabric(
    "BM.GPU.H200.8 and BM.GPU.B200.8",
    ("H200", "B200"),
    "0 3 4 5 6 9 10 11",
)
