"""Where an actor is put."""


class NodeAffinitySchedulingStrategy:
    """On this node."""

    def __init__(self, *, node_id: str, soft: bool) -> None:
        assert not soft
        self.node_id = node_id
