"""The server of assistants, asked by the client of the official SDK over standard input and output."""

import asyncio
import builtins
import sys
from pathlib import Path
from typing import Any

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import mcp_server
from nccltool.interop.assistant_tools import AssistantTools


async def ask(folder: Path) -> tuple[dict[str, Any], list[tuple[bool, str]]]:
    """The tools, and what some questions come to: (is it an error, text)."""
    from mcp import Client, StdioServerParameters, stdio_client

    command = ["-P", "-m", "nccltool", "mcp", "--allow", str(folder)]
    questions = (
        ("explain", {"word": "rank-died"}),
        ("triage", {"paths": [str(folder / "job.log")]}),
        ("triage", {"paths": ["/etc/passwd"]}),
        ("runs", {"run": "no-such-run"}),
    )
    async with Client(stdio_client(StdioServerParameters(command=sys.executable, args=command))) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        answers = [await client.call_tool(name, arguments) for name, arguments in questions]
    return tools, [(answer.is_error, getattr(answer.content[0], "text", "")) for answer in answers]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_assistant_asks(tmp_path: Path) -> None:
    (tmp_path / "job.log").write_text(
        "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
    )
    tools, answers = asyncio.run(asyncio.wait_for(ask(tmp_path), 120))
    assert list(tools) == ["doctor", "triage", "explain", "runs", "compare"]
    assert all(tool.annotations.read_only_hint for tool in tools.values())
    explained, found, outside, unknown = answers
    assert explained[0] is False
    assert explained[1].startswith("rank-died (finding)")
    assert found[0] is False
    assert found[1].startswith("FAIL triage: out-of-memory")
    assert outside[0] is True
    assert "outside of the folders" in outside[1]
    assert unknown[0] is True


def test_without_the_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *words: Any) -> Any:
        if name.startswith("mcp"):
            raise ImportError(name)
        return real(name, *words)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BadInput) as error:
        mcp_server.server(AssistantTools(()))
    assert error.value.remedy == "run pip install 'nccltool[mcp]'"
