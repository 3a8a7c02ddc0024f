"""The pages of docs/ that `nccltool explain` reads."""

import pytest

from nccltool.cli import help_pages
from nccltool.core import manual, members


def pages_read() -> frozenset[str]:
    """By asking each kind for all its pages."""
    read: set[str] = set()
    text_of = manual.page.__wrapped__

    def noting(name: str) -> str:
        read.add(name)
        return str(text_of(name))

    with pytest.MonkeyPatch.context() as patch:
        manual.sections.cache_clear()
        patch.setattr(manual, "page", noting)
        for kind in help_pages.KINDS:
            module = members.module(help_pages.__name__, kind)
            for name in module.names()[:40]:
                module.page(name)
    return frozenset(read)
