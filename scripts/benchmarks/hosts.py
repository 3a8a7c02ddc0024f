"""How long does a look at a host take, and ten thousand snapshots held against each other? In how much memory?"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import extent

SNAPSHOT_TARGET_S, SNAPSHOT_TARGET_MIB = 0.2, 50
COMPARE_TARGET_S, COMPARE_TARGET_MIB = 10.0, 500
COUNT = extent.of(10_000, 20)
_ROUNDS = extent.of(7, 1)
_ROOT = Path(__file__).resolve().parents[2]

_TAKE = """
import resource, sys, time
from pathlib import Path
from nccltool.hosts import reader as snapshot
began = time.perf_counter()
snapshot.take(Path(sys.argv[1]))
print(time.perf_counter() - began, max(resource.getrusage(who).ru_maxrss
      for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))
"""


def main() -> bool:
    """Print a line for each; whether the targets are met."""
    sys.path.insert(0, str(_ROOT))
    from tests import captured_hosts

    with tempfile.TemporaryDirectory() as folder:
        tree = captured_hosts.build(Path(folder) / "ib", captured_hosts.KINDS["ib"])
        good = [_snapshot("this host", "/"), _snapshot("a captured host with 8 GPUs and 8 ports", str(tree))]
        good.append(_comparison(Path(folder) / "snapshots.jsonl"))
    return all(good)


def _snapshot(what: str, root: str) -> bool:
    seconds, mib = [], []
    for _ in range(_ROUNDS):
        done = subprocess.run([sys.executable, "-c", _TAKE, root], capture_output=True, text=True, check=True)
        took, kib = done.stdout.split()
        seconds.append(float(took))
        mib.append(int(kib) / 1024)
    took_s = statistics.median(seconds)
    good = took_s <= SNAPSHOT_TARGET_S and max(mib) <= SNAPSHOT_TARGET_MIB
    print(
        f"{what}: {took_s * 1e3:.0f} ms (at most {SNAPSHOT_TARGET_S * 1e3:.0f}), {max(mib):.0f} MiB"
        f" (at most {SNAPSHOT_TARGET_MIB}) {'ok' if good else 'MISSED'}"
    )
    return good


def _comparison(file: Path) -> bool:
    """Read from a file, a line a host, as they would come from the network."""
    _write(file)
    began = time.perf_counter()
    done = subprocess.run([sys.executable, __file__, str(file)], capture_output=True, text=True, check=True)
    took_s = time.perf_counter() - began
    kib, findings = done.stdout.split()
    mib = int(kib) / 1024
    good = took_s <= COMPARE_TARGET_S and mib <= COMPARE_TARGET_MIB and int(findings) == 3
    print(
        f"{COUNT} snapshots ({file.stat().st_size >> 20} MiB) read and compared: {took_s:.1f} s (at most"
        f" {COMPARE_TARGET_S:g}), {mib:.0f} MiB (at most {COMPARE_TARGET_MIB}), {findings} differences"
        f" {'ok' if good else 'MISSED'}"
    )
    return good


def _write(file: Path) -> None:
    """Hosts with 8 GPUs and 8 ports, of which a few are odd in three ways."""
    from msgspec.structs import replace

    from nccltool.hosts.facts import to_json
    from tests import captured_hosts

    base = replace(captured_hosts.healthy("ib"), env={f"NCCL_TEST_{number}": "1" for number in range(40)})
    memlock = replace(base.limits, memlock_soft_bytes=65536)
    with file.open("w") as out:
        for number in range(COUNT):
            host = replace(base, host=f"n{number:05}", boot_id=f"boot {number}")
            if number % 1000 == 7:
                host = replace(host, env={**base.env, "NCCL_IB_HCA": "mlx5_0"})
            if number % 2500 == 11:
                host = replace(host, limits=memlock)
            if number == 4242:
                host = replace(host, versions=replace(base.versions, nccl="2.18.3"))
            out.write(to_json(host, indent=0) + "\n")


def _compare(file: str) -> None:
    """In a process of its own, so that its memory is its own."""
    from nccltool.hosts.differences import compare
    from nccltool.hosts.facts import from_json

    with Path(file).open("rb") as lines:
        found = compare(from_json(line, file) for line in lines)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(found))


if __name__ == "__main__":
    _compare(sys.argv[1])
