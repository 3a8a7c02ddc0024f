"""Names what is slow, from encounters alone: no input or output, and the same verdict in any order."""

from nccltool.localize.judge.verdict import judge

__all__ = ["judge"]
