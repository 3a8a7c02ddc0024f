"""The captured host of a paper machine, for `sitecustomize`."""

from tests.papergpu.host_side import install

__all__ = ["install"]
