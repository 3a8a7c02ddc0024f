"""Where ranks meet: --rdzv-endpoint, else MASTER_ADDR, else a free port."""

from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.launch.rendezvous.orders import orders


@pytest.mark.parametrize(
    ("endpoint", "env", "host", "port"),
    [
        ("n1:1234", {"MASTER_ADDR": "n2"}, "n1", 1234),
        ("[fd00::1]:1234", {}, "fd00::1", 1234),
        (None, {"MASTER_ADDR": "n2", "MASTER_PORT": "7"}, "n2", 7),
        (None, {"MASTER_ADDR": "fd00::2"}, "fd00::2", 29500),
    ],
)
def test_all_forms_get_the_address(
    endpoint: str | None, env: dict[str, str], host: str, port: int, tmp_path: Path
) -> None:
    made = orders("4", endpoint, None, 5.0, env, tmp_path)
    assert [(one.form, one.host, one.port, one.ranks) for one in made] == [
        (form, host, port, 4) for form in ("env", "tcp", "file", "spawn")
    ]
    assert {one.file for one in made} == {str(tmp_path / "store")}


def test_without_an_address_each_form_has_a_free_port(tmp_path: Path) -> None:
    made = orders(None, None, "here", 5.0, {}, tmp_path)
    assert {(one.host, one.ranks) for one in made} == {("127.0.0.1", 2)}
    assert all(one.port >= 1024 for one in made)
    assert {one.file for one in made} == {str(Path.cwd() / "here")}


@pytest.mark.parametrize("nproc", ["1", "0", "65", "x", "-2"])
def test_numbers_of_ranks_that_cannot_be_tried(nproc: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"--nproc-per-node .*: expected a number from 2 to 64"):
        orders(nproc, None, None, 5.0, {}, tmp_path)
