"""When ranks have NCCL log its warnings, and what the user said instead."""

from pathlib import Path

import pytest

from nccltool.worker.rank.nccl_log import ask_for_warnings

WARN = ("NCCL_DEBUG=WARN",)


def root(tmp_path: Path, home: str | None = None, system: str | None = None) -> Path:
    """A tree of files whose home is /root."""
    for name, text in (("root/.nccl.conf", home), ("etc/nccl.conf", system), ("etc/hostname", "alpha\n")):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        if text is not None:
            file.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("backend", "environ", "home", "system", "set_here"),
    [
        ("nccl", {}, None, None, WARN),
        ("gloo", {}, None, None, ()),
        ("nccl", {"NCCL_DEBUG": "INFO"}, None, None, ()),
        ("nccl", {"NCCL_DEBUG": ""}, None, None, ()),
        ("nccl", {"NCCL_DEBUG_FILE": "/tmp/nccl.%h.%p"}, None, None, WARN),
        ("nccl", {}, "NCCL_DEBUG=VERSION\n", None, ()),
        ("nccl", {}, None, "NCCL_DEBUG=INFO\n", ()),
        ("nccl", {}, "NCCL_IB_HCA=mlx5\n#NCCL_DEBUG=INFO\n", "NCCL_NET=IB\n", WARN),
    ],
)
def test_only_where_nothing_else_says_it(
    tmp_path: Path,
    backend: str,
    environ: dict[str, str],
    home: str | None,
    system: str | None,
    set_here: tuple[str],
) -> None:
    env = {"HOME": "/root", **environ}
    assert ask_for_warnings(backend, "2.30.7", env, root(tmp_path, home, system)) == set_here
    wanted = {"NCCL_DEBUG": "WARN"} if set_here else {}
    assert env == {"HOME": "/root", **environ, **wanted}
