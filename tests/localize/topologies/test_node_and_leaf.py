"""Lines of NODE LEAF."""

from nccltool.localize.topologies import node_and_leaf


def test_rails_are_read() -> None:
    found = node_and_leaf.read("n1 leaf1 mlx5_0,mlx5_1\nn2 leaf1\n", "f")
    assert found.rails("n1") == ("mlx5_0", "mlx5_1")
    assert found.rails("n2") == ()
    assert not node_and_leaf.recognises(" \n")
