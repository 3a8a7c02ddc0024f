"""nccltool serve: words that it cannot use."""

from collections.abc import Callable

import pytest


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--listen", "localhost"], "is not HOST:PORT"),
        (["--listen", "127.0.0.1:70000"], "is not HOST:PORT"),
        (["--listen", "192.0.2.1:9779"], "Cannot assign requested address"),
        (["--cluster", "-eu"], "--cluster '-eu' is not a cluster name"),
        (["--web-config", "missing.yml"], "cannot be read"),
    ],
)
def test_bad_words(nccltool: Callable[..., object], options: list[str], message: str) -> None:
    said = nccltool("serve", *options)
    assert (said.code, message in said.err) == (2, True)  # type: ignore[attr-defined]
