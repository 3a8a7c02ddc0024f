"""What an assistant may ask: which files are read, what is removed, and what comes of a command that fails."""

from pathlib import Path

import pytest

from nccltool.core import external_commands
from nccltool.core.errors import BadInput
from nccltool.core.external_commands import Done
from nccltool.core.unknown import Unknown
from nccltool.interop import assistant_tools
from nccltool.interop.assistant_tools import AssistantTools

SECRET = "HF_TOKEN=hf_abcdefghijklmnopqrstuvwx"


@pytest.fixture
def tools(tmp_path: Path) -> AssistantTools:
    (tmp_path / "in").mkdir()
    (tmp_path / "out.log").write_text("x")
    (tmp_path / "in/link").symlink_to(tmp_path / "out.log")
    (tmp_path / "in/job.log").write_text(f"{SECRET}\nbash: line 1: torchrun: command not found\n")
    return AssistantTools((tmp_path / "in",))


def test_a_log_is_diagnosed_and_its_secrets_are_removed(tools: AssistantTools, tmp_path: Path) -> None:
    answer = tools.triage([str(tmp_path / "in/job.log")])
    assert "triage" in answer.splitlines()[0]
    assert "hf_abc" not in answer


@pytest.mark.parametrize("path", ["/etc/passwd", "in/../out.log", "in/link", "out.log", "", "in/\0"])
def test_other_files_are_not_read(
    tools: AssistantTools, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput):
        tools.triage([path])
    with pytest.raises(BadInput):
        tools.doctor([path])
    with pytest.raises(BadInput):
        tools.compare("latest", path)


@pytest.mark.parametrize("place", ["in", "in/deep", "in/a/b"])
@pytest.mark.parametrize("target", ["out", "out.log", "in/../out.log", "missing"])
def test_a_folder_with_a_link_that_leads_out_is_not_read(tmp_path: Path, place: str, target: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out.log").write_text("x")
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "job.log").write_text("x")
    link = tmp_path / place / "link"
    link.symlink_to(tmp_path / target)
    tools = AssistantTools((tmp_path / "in",))
    for ask in (lambda path: tools.triage([path]), lambda path: tools.doctor(root=path), tools.runs):
        with pytest.raises(BadInput) as error:
            ask(str(tmp_path / "in"))
        assert error.value.message.endswith(f"leads out of the folders that this server may read: {link}")


def test_a_folder_is_reached_by_no_link_that_leads_out(tmp_path: Path) -> None:
    (tmp_path / "out/logs").mkdir(parents=True)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/link").symlink_to(tmp_path / "out")
    with pytest.raises(BadInput, match="is outside of the folders"):
        AssistantTools((tmp_path / "in",)).triage([str(tmp_path / "in/link/logs")])


def test_links_that_stay_inside_are_followed(tools: AssistantTools, tmp_path: Path) -> None:
    (tmp_path / "in/link").unlink()
    (tmp_path / "in/again.log").symlink_to("job.log")
    assert "triage" in tools.triage([str(tmp_path / "in")]).splitlines()[0]


@pytest.mark.parametrize("word", ["lates", "2026112X", "baselne:good", "nosuchrun"])
def test_a_mistyped_name_is_answered_by_the_command(
    tools: AssistantTools, word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path / "in")
    monkeypatch.setenv("NCCLTOOL_RUN_DIR", str(tmp_path / "in/runs"))
    for ask in (tools.runs, lambda word: tools.compare(word, "latest")):
        with pytest.raises(BadInput) as error:
            ask(word)
        assert f"Error: unknown run '{word}'" in error.value.message
        assert "Traceback" not in error.value.message


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda tools: tools.explain("--help"), ["explain", "--", "--help"]),
        (lambda tools: tools.runs("latest"), ["runs", "--verbose", "--", "latest"]),
        (lambda tools: tools.runs(), ["runs", "--limit", "20"]),
        (
            lambda tools: tools.compare("baseline:good", "20261123T1-ab"),
            ["compare", "--", "baseline:good", "20261123T1-ab"],
        ),
        (lambda tools: tools.doctor(nccl_version="2.30.7 --pid 1"), ["doctor", "--nccl-version=2.30.7 --pid 1"]),
    ],
)
def test_words_of_an_assistant_are_no_options(
    tools: AssistantTools, monkeypatch: pytest.MonkeyPatch, ask: object, words: list[str]
) -> None:
    asked: list[str] = []

    def run(argv: tuple[str, ...], limit_s: float, env: object) -> Done:
        asked.extend(argv[4:])
        return Done(code=0, out=SECRET, err="")

    monkeypatch.setattr(external_commands, "run", run)
    assert callable(ask)
    assert ask(tools) == "HF_TOKEN=*removed*"
    assert asked == words


@pytest.mark.parametrize(
    ("ended", "message"),
    [
        (Done(code=2, out="", err=f"Error: no such run {SECRET}"), "Error: no such run HF_TOKEN=*removed*"),
        (Done(code=-9, out="", err=""), "nccltool explain ended with -9"),
        (Unknown("it took longer than 300 s"), "nccltool explain: it took longer than 300 s"),
    ],
)
def test_a_command_that_fails(
    tools: AssistantTools, monkeypatch: pytest.MonkeyPatch, ended: Done | Unknown, message: str
) -> None:
    monkeypatch.setattr(external_commands, "run", lambda *_: ended)
    with pytest.raises(BadInput) as error:
        tools.explain("x")
    assert error.value.message == message


def test_a_long_answer_is_cut_and_says_so(tools: AssistantTools, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "word " * assistant_tools.LONGEST
    monkeypatch.setattr(external_commands, "run", lambda *_: Done(code=3, out=long, err=""))
    answer = tools.explain("x")
    assert answer.endswith(f"({len(long) - assistant_tools.LONGEST} more characters were left out)\n")
