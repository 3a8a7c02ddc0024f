"""Examples on the pages that need several hosts, played in namespaces with a real sshd or a real Slurm.

Their pages mark them as `hosts: n[1-4]` or `hosts: n[1-2] with Slurm`; each has hosts and a folder of its own.
What runs `first` on a page finds the folder of the pages as $DOCS. UPDATE_GOLDEN=1 writes what was printed there.
"""

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docs.examples import Example, differs, examples, written
from tests.docs.pages import PAGES, ROOT
from tests.lab import slurm, sshd
from tests.lab.conftest import Start
from tests.lab.lab import Lab
from tests.lab.slurm import Slurm
from tests.lab.sshd import Sshd

pytestmark = pytest.mark.lab

LIMIT_S = 240.0
QUICK = {"docs/launchers.md-0", "docs/commands/slurm-prolog.md-0"}
"""The others take longer: preflights over four hosts, hosts that do not answer, runs in Slurm."""
_HOSTS = re.compile(r"n\[1-(\d)\]( with Slurm)?")


@dataclass(frozen=True)
class Site:
    """Where examples are played: on the first of some hosts."""

    lab: Lab
    env: dict[str, str]


def _of_hosts(page: Path) -> list[Example]:
    return [example for example in examples(page) if example.hosts is not None]


PLACES = [
    (page, index, f"{page.relative_to(ROOT)}-{index}") for page in PAGES for index in range(len(_of_hosts(page)))
]


@pytest.fixture
def site(possible: None, tmp_path: Path) -> Iterator[Callable[[Example], Site]]:
    """Makes the hosts that an example asks for, set up as an administrator has them."""
    with ExitStack() as stack:

        def made(example: Example) -> Site:
            wanted = _HOSTS.fullmatch(example.hosts or "")
            assert wanted, f"{example}: hosts: {example.hosts}"
            if reason := (slurm if wanted[2] else sshd).missing():
                pytest.skip(reason)
            lab = stack.enter_context(Lab(int(wanted[1])))
            if wanted[2]:
                return Site(lab, _programs(tmp_path, "srun") | stack.enter_context(Slurm(lab)).env)
            servers = stack.enter_context(Sshd(lab, tmp_path / "sshd"))
            return Site(lab, _programs(tmp_path, f"{shutil.which('ssh')} -F {servers.config}"))

        yield made


def _programs(folder: Path, ssh: str) -> dict[str, str]:
    """A PATH with `nccltool`, and an `ssh` that knows the hosts."""
    (folder / "bin").mkdir()
    for name, command in {"ssh": ssh, "nccltool": f"{sys.executable} -m nccltool"}.items():
        (folder / "bin" / name).write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        (folder / "bin" / name).chmod(0o755)
    return {"PATH": f"{folder}/bin:{os.environ['PATH']}", "NCCLTOOL_RUN_DIR": "runs", "DOCS": str(ROOT / "docs")}


@pytest.mark.parametrize(
    ("page", "index"),
    [
        pytest.param(page, index, id=name, marks=() if name in QUICK else pytest.mark.slow)
        for page, index, name in PLACES
    ],
)
def test_an_example_shows_what_is_printed(
    page: Path, index: int, site: Callable[[Example], Site], start: Start
) -> None:
    example = _of_hosts(page)[index]
    place = site(example)

    def said(line: str) -> str:
        ended = start(place.lab.hosts[0], ("bash", "-c", f"exec 2>&1\n{line}"), **place.env).wait(LIMIT_S)
        return ended.stdout

    for line in example.first:
        said(line)
    printed = [said(step.line) for step in example.steps]
    if os.environ.get("UPDATE_GOLDEN"):
        written(example, printed)
        return
    assert not differs(example, printed), differs(example, printed)


def test_the_quick_ones_are_there() -> None:
    assert {name for _, _, name in PLACES} >= QUICK
