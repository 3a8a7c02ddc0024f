"""A job, and the names of its nodes whose hosts are not known."""

import pytest

from nccltool.launch.job import node_name, node_number


@pytest.mark.parametrize(
    ("name", "number"),
    [(node_name(3), 3), ("node 12", 12), ("node ?", None), ("node", None), ("n3", None), ("node x", None)],
)
def test_the_number_of_a_node(name: str, number: int | None) -> None:
    assert node_number(name) == number
