"""Which node, rail, link or direction is slow, from measurements of nodes that met."""
