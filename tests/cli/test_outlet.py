"""Results go where they are asked to go, and commands that only read start without what draws runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from nccltool.cli import outlet
from nccltool.core.errors import BadInput, ResultNotWritten


def test_a_result_goes_to_standard_output_or_into_a_file(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    outlet.deliver("a\n", None)
    outlet.deliver("b\n", str(tmp_path / "out"))
    assert (capfd.readouterr().out, (tmp_path / "out").read_text()) == ("a\n", "b\n")


def test_what_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be written"):
        outlet.writable(str(tmp_path / "missing/out"))
    with pytest.raises(ResultNotWritten, match="No space left on device"):
        outlet.write_file("/dev/full", b"x")


def test_it_loads_nothing_of_runs() -> None:
    asked = "import sys, nccltool.cli.outlet; print([one for one in sys.modules if one.startswith('nccltool.')])"
    loaded = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout
    rooms = ("triage", "interop", "preflight", "train", "localize", "probe")
    assert [room for room in rooms if f"nccltool.{room}." in loaded] == []
