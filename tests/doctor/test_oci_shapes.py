"""What Oracle Cloud's shapes have in common."""

from nccltool.doctor import oci_shapes


def test_adapters_are_exact_names_and_more_settings_come_last() -> None:
    fabric = oci_shapes.fabric("BM.GPU.X", ("X",), "0 12", ("NCCL_MNNVL_ENABLE", "1", "a reason"))
    first, *_, last = fabric.settings
    assert (first.name, first.value, last.name) == ("NCCL_IB_HCA", "=mlx5_0,mlx5_12", "NCCL_MNNVL_ENABLE")
    assert {one.source for one in fabric.settings} == {oci_shapes.SOURCE}
