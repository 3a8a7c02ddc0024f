"""nccltool mcp. Answers: tests/interop/test_mcp_server.py."""

from tests.conftest import Nccltool


def test_a_folder_that_is_not_there(nccltool: Nccltool) -> None:
    said = nccltool("mcp", "--allow", "/no/such/folder")
    assert said.code == 2
    assert "/no/such/folder" in said.err
