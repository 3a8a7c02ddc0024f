"""What every test gets: an environment without traces of launchers, users or earlier runs."""

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest

from nccltool.core import documents
from tests.support import documents as held

GOLDEN = Path(__file__).parent / "golden"
_FOREIGN = ("NCCLTOOL_", "SLURM_", "OMPI_", "PMI_", "PMIX_", "MPI_", "TORCHELASTIC_", "PET_")
_OF_A_RANK = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT")

hypothesis.settings.register_profile("nccltool", derandomize=True, database=None, deadline=None, max_examples=60)
hypothesis.settings.load_profile("nccltool")


_numbers = itertools.count()


@pytest.fixture(autouse=True)
def clean_environment(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for name in list(os.environ):
        if name.startswith(_FOREIGN) or name in (*_OF_A_RANK, "CUDA_VISIBLE_DEVICES"):
            monkeypatch.delenv(name)
    if "tmp_path" in request.fixturenames:
        state = request.getfixturevalue("tmp_path") / "state"
    else:  # a folder for each of ten thousand tests that write nothing takes a third of their time
        state = tmp_path_factory.getbasetemp() / f"state-{next(_numbers)}"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(state.with_name("config")))


@pytest.fixture(autouse=True, scope="session")
def _documents_are_valid() -> Iterator[None]:
    """Every document that a test makes is as its schema says."""
    harmless = documents.harmless

    def checked(text: str) -> str:
        held.hold(text)
        return harmless(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(documents, "harmless", checked)
        yield


@dataclass(frozen=True)
class Said:
    """What a command wrote, and its exit code."""

    code: int
    out: str
    err: str


Nccltool = Callable[..., Said]


@pytest.fixture
def nccltool(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Nccltool:
    """Runs `nccltool WORDS` in this process, as a terminal 80 columns wide would."""
    from nccltool.cli import main

    def call(*words: str, **env: str) -> Said:
        monkeypatch.setattr("sys.argv", ["nccltool", *words])
        monkeypatch.setenv("COLUMNS", "80")
        for name, value in env.items():
            monkeypatch.setenv(name, value)
        capsys.readouterr()
        code: object = 0
        try:
            main()
        except SystemExit as ended:
            code = ended.code
        out, err = capsys.readouterr()
        assert isinstance(code, int)
        return Said(code, out, err)

    return call


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Holds text against tests/golden/NAME; UPDATE_GOLDEN=1 writes it, and the difference is for review."""

    def hold(name: str, text: str) -> None:
        file = GOLDEN / name
        if os.environ.get("UPDATE_GOLDEN"):
            file.write_text(text)
        assert file.read_text() == text

    return hold
