"""What Ray raises."""


class RayError(Exception):
    """All of it."""
