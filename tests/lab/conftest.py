"""Two, three or four hosts for a test, and commands on them."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.lab import sshd
from tests.lab.lab import Host, Lab, missing
from tests.lab.sshd import Sshd
from tests.support.commands import PROBE, Command

PORT = 29500
Start = Callable[..., Command]
Probe = Callable[..., Command]


@pytest.fixture(scope="session")
def possible() -> None:
    """Skips where namespaces cannot be made."""
    if reason := missing():
        pytest.skip(reason)


@pytest.fixture
def lab(possible: None) -> Iterator[Lab]:
    """Two hosts."""
    with Lab(2) as two:
        yield two


@pytest.fixture
def lab_of_four(possible: None) -> Iterator[Lab]:
    """Four hosts."""
    with Lab(4) as four:
        yield four


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a command on a host; what it left is ended with the test. Nodes that join share a secret."""
    file = tmp_path / "secret"
    file.touch(mode=0o600)
    file.write_text(secrets.token_hex(32))
    with ExitStack() as stack:

        def begin(host: Host, argv: Sequence[str], **env: str) -> Command:
            shared = {"NCCLTOOL_RDZV_SECRET_FILE": str(file)} if "--node-rank" in argv else {}
            return stack.enter_context(host.start(argv, tmp_path, {**shared, **env}))

        yield begin


@pytest.fixture
def with_sshd(possible: None, tmp_path: Path) -> Iterator[Callable[[Lab], Sshd]]:
    """Starts an sshd on every host of a laboratory."""
    if reason := sshd.missing():
        pytest.skip(reason)
    with ExitStack() as stack:
        yield lambda lab: stack.enter_context(Sshd(lab, tmp_path / "sshd"))


@pytest.fixture
def servers(lab_of_four: Lab, with_sshd: Callable[[Lab], Sshd]) -> Sshd:
    """Four hosts, each with its sshd."""
    return with_sshd(lab_of_four)


@pytest.fixture
def probe(servers: Sshd, start: Start) -> Iterator[Probe]:
    """`nccltool probe --hosts HOSTS WORDS` on n1; at the end nothing is left anywhere."""
    commands: list[Command] = []

    def begin(hosts: str, *words: str, **env: str) -> Command:
        argv = (*PROBE, "--hosts", hosts, "--ssh", " ".join(servers.ssh), *words)
        commands.append(start(servers.lab.hosts[0], argv, **env))
        return commands[-1]

    yield begin
    assert all(command.everything_gone() for command in commands)


def join(node_rank: int, nodes: int, *words: str) -> tuple[str, ...]:
    """The command of one host of a run that joins at n1."""
    place = ("--nodes", str(nodes), "--node-rank", str(node_rank), "--rdzv-endpoint", f"n1:{PORT}")
    return (*PROBE, *place, *words)


def drop(host: Host, hook: str, *rules: str) -> None:
    """Rules for what enters a host (input) or leaves it (output), one after the other."""
    host.run("nft", "add table inet faults")
    host.run("nft", f"add chain inet faults {hook} {{ type filter hook {hook} priority 0; }}")
    for rule in rules:
        host.run("nft", f"add rule inet faults {hook} {rule}")
