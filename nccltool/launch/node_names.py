"""A node whose host is not known is called by its number."""


def node_name(number: int) -> str:
    """`node 3`."""
    return f"node {number}"


def node_number(name: str) -> int | None:
    """3, of `node 3`; None of the name of a host."""
    word, _, number = name.partition(" ")
    return int(number) if word == "node" and number.isdecimal() else None
