"""Jobs of PBS, LSF and Flux on real hosts. The schedulers are stand-ins: scripts that reach a host as they do."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.lab.conftest import Start
from tests.lab.sshd import Sshd
from tests.support.commands import PROBE

pytestmark = pytest.mark.lab
LIMIT_S = 60.0
QUICK = ("--op", "all_reduce", "--sizes", "1KiB", "-n", "4")
SCRIPTS = {
    "ssh": 'exec {ssh} "$@"\n',
    "blaunch": 'exec {ssh} -T "$@"\n',
    "flux": 'if [ "$1" = getattr ]; then echo "n[2-4]"; exit; fi\n'
    '[ "$1 $2" = "exec --rank" ] || exit 1\nhost=n$(($3 + 2)); shift 3; exec {ssh} -T $host "$@"\n',
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("env", "words", "shown", "hosts"),
    [
        ({"PBS_JOBID": "12.pbs", "PBS_NODEFILE": "{nodes}"}, (), "pbs (job 12: 2 hosts)", ["n2", "n3"]),
        ({"LSB_JOBID": "7", "LSB_MCPU_HOSTS": "n4 8 n2 8"}, (), "lsf (job 7: 2 hosts)", ["n4", "n2"]),
        (
            {"FLUX_URI": "local:///run/flux-a/local-0", "FLUX_ENCLOSING_ID": "f2"},
            ("--nodes", "2"),
            "flux (job f2: 3 hosts; --nodes 2 uses the first)",
            ["n2", "n3"],
        ),
    ],
    ids=["pbs", "lsf", "flux"],
)
def test_the_hosts_of_a_job(
    servers: Sshd,
    start: Start,
    tmp_path: Path,
    env: Mapping[str, str],
    words: tuple[str, ...],
    shown: str,
    hosts: list[str],
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    real = " ".join(("/usr/bin/ssh", *servers.ssh[1:]))
    for name, script in SCRIPTS.items():
        (programs / name).write_text("#!/bin/sh\n" + script.replace("{ssh}", real))
        (programs / name).chmod(0o755)
    (tmp_path / "nodes").write_text("n2\nn3\n")
    given = {name: value.replace("{nodes}", str(tmp_path / "nodes")) for name, value in env.items()}
    path = f"{programs}:{os.environ['PATH']}"
    ended = start(servers.lab.hosts[1], (*PROBE, *words, *QUICK), PATH=path, **given).wait(LIMIT_S)
    assert (ended.code, ended.document["run"]["hosts"]) == (0, hosts), ended.said
    assert ended.stderr.startswith(f"launcher: {shown}\n")
    assert servers.lab.quiet()
