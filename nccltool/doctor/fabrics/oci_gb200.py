"""Oracle Cloud BM.GPU.GB200.4 and BM.GPU.GB200-v2.4: NVLink between hosts, RoCE between racks."""

from nccltool.doctor import oci_shapes

FABRIC = oci_shapes.fabric(
    "BM.GPU.GB200.4 and BM.GPU.GB200-v2.4",
    ("GB200",),
    "0 1 3 4",
    ("NCCL_MNNVL_ENABLE", "1", "a job without NVLink between hosts fails instead of taking RoCE"),
)
