"""How long does `nccltool doctor` take for this host, and for ten thousand different ones? In how much memory?"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import extent

TARGET_S, TARGET_MIB = 0.30, 60
MANY_TARGET_S, MANY_TARGET_MIB = 10.0, 500
COUNT = extent.of(10_000, 20)
_ROUNDS = extent.of(9, 1)
_ROOT = Path(__file__).resolve().parents[2]
_FOUND = {"CON002": 1, "LIM001": 1, "PLG007": 1, "driver-differs": 1}
"""What is odd about some of the many, and what a job of so many nodes needs; each is said once."""


def main() -> bool:
    """Print a line for each; whether the targets are met."""
    sys.path.insert(0, str(_ROOT))
    with tempfile.TemporaryDirectory() as folder:
        return all([_this_host(), _many(Path(folder))])


def _this_host() -> bool:
    runs = [_run([], Path.cwd()) for _ in range(_ROUNDS)]
    took_s, mib = statistics.median(run[0] for run in runs), max(run[1] for run in runs)
    good = took_s <= TARGET_S and mib <= TARGET_MIB
    print(
        f"doctor: {took_s:.2f} s (at most {TARGET_S:g}), {mib:.0f} MiB (at most {TARGET_MIB})"
        f" {'ok' if good else 'MISSED'}"
    )
    return good


def _many(folder: Path) -> bool:
    words = [word for name in _written(folder) for word in ("--facts", name)]
    took_s, mib, said = _run(words, folder)
    document = json.loads(said)
    codes = [finding["code"] for finding in document["findings"]]
    good = (
        took_s <= MANY_TARGET_S
        and mib <= MANY_TARGET_MIB
        and {code: codes.count(code) for code in codes} == _FOUND
    )
    print(
        f"doctor --facts of {len(document['run']['hosts'])} hosts, {len(document['outcomes'])} rules:"
        f" {took_s:.1f} s (at most {MANY_TARGET_S:g}), {mib:.0f} MiB (at most {MANY_TARGET_MIB}),"
        f" {len(codes)} findings {'ok' if good else f'MISSED: {codes}'}"
    )
    return good


def _run(words: Sequence[str], folder: Path) -> tuple[float, float, str]:
    """(seconds, MiB, standard output) of the doctor alone: wait4 tells of one process."""
    argv = [sys.executable, "-m", "nccltool", "doctor", "--format", "json", *words]
    began = time.perf_counter()
    with subprocess.Popen(argv, cwd=folder, stdout=subprocess.PIPE, text=True) as doctor:
        assert doctor.stdout
        said = doctor.stdout.read()
        _, status, used = os.wait4(doctor.pid, 0)
        took_s = time.perf_counter() - began
        doctor.returncode = os.waitstatus_to_exitcode(status)
    return took_s, used.ru_maxrss / 1024, said


def _written(folder: Path) -> Iterator[str]:
    """Hosts with 8 GPUs, 8 ports and 40 variables, each with its own name, addresses, GUIDs and boot."""
    from msgspec.structs import replace

    from nccltool.hosts.facts import to_json
    from tests import captured_hosts

    every = {"NCCL_DEBUG": "WARN", **{f"OMPI_MCA_test_{number}": "1" for number in range(39)}}
    base = replace(captured_hosts.healthy("ib"), env=every)
    odd = {
        7: replace(base, env={**every, "NCCL_IB_HCA": "mlx5"}),
        4242: replace(base, versions=replace(base.versions, nccl="2.27.5")),
        5555: replace(base, nvidia=replace(base.nvidia, driver="570.86.15")),
    }
    texts = {number: to_json(host, indent=0) for number, host in odd.items()}
    usual = to_json(base, indent=0)
    for number in range(COUNT):
        (folder / str(number)).write_text(_own(texts.get(number, usual), number))
        yield str(number)


def _own(text: str, number: int) -> str:
    high, low = divmod(number, 256)
    return (
        text.replace('"n001"', f'"n{number:05}"')
        .replace("7f4d2a30-1111-4222-8333-444455556666", f"7f4d2a30-1111-4222-8333-{number:012x}")
        .replace('"10.0.0.1"', f'"10.1.{high}.{low}"')
        .replace("a088:c203:00aa", f"a088:c2{high:02x}:{low:02x}aa")
        .replace("GPU-", f"GPU-{number:05}-")
    )
