"""Is what is measured between two hosts what the link between them carries?

Two hosts on this machine (network namespaces), whose link is limited by nothing but the processors: so another
program on the same link is the yardstick, not a number. iperf3 with one TCP stream, one way for ping_pong, both
ways at once for send_recv; then a bare torch loop in the same two ranks. Launches alternate: they differ by 40 %.
"""

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from benchmarks import extent

ROUNDS = extent.of(5, 1)
SIZE = "16MiB"
BARE_SIZES = (2**20, 2**24)
IPERF_S = extent.of(2.0, 1.0)
SECONDS_EACH = extent.of(10.0, 0.5)
OF_IPERF_TARGET = 0.6
_ROOT = Path(__file__).resolve().parents[2]
_LIMIT_S = 120.0


def main() -> bool:
    """Print a row for each comparison; whether no target is missed."""
    sys.path.insert(0, str(_ROOT))
    from tests.lab import iperf, lab

    reason = lab.missing() or iperf.lacking()
    if reason:
        print(f"cannot tell: {reason}")
        return False
    with lab.Lab(2) as two, tempfile.TemporaryDirectory() as folder:
        good = list(_against_iperf(two, Path(folder)))
        good += _against_a_bare_loop(two, Path(folder))
    return all(good)


def _against_iperf(two: Any, folder: Path) -> Iterator[bool]:
    from tests.lab.iperf import iperf3_bits_per_s

    seen: dict[str, list[float]] = {"ping_pong": [], "send_recv": [], "one way": [], "both ways": []}
    for number in range(ROUNDS):
        first, second = two.hosts[:: 1 if number % 2 else -1]
        seen["one way"].append(iperf3_bits_per_s(first, second, IPERF_S))
        for op, busbw in _probe(two, folder / str(number)).items():
            seen[op].append(busbw * 8)
        seen["both ways"].append(iperf3_bits_per_s(first, second, IPERF_S, both_ways=True))
    for op, yardstick in (("ping_pong", "one way"), ("send_recv", "both ways")):
        ours, theirs = statistics.median(seen[op]), statistics.median(seen[yardstick])
        good = ours / theirs >= OF_IPERF_TARGET
        of_one_way = ours / statistics.median(seen["one way"])
        print(
            f"{op:10} {SIZE}: {ours / 1e9:.1f} Gbit/s, {ours / theirs:.2f} of one stream of iperf3 {yardstick},"
            f" {theirs / 1e9:.1f} (at least {OF_IPERF_TARGET}) {'ok' if good else 'MISSED'}; {of_one_way:.2f} of"
            f" one way; from {min(seen[op]) / 1e9:.1f} to {max(seen[op]) / 1e9:.1f} over {ROUNDS} launches"
        )
        yield good


def _probe(two: Any, folder: Path) -> dict[str, float]:
    """Bus bandwidth of each operation, B/s, from `nccltool probe` on both hosts."""
    from tests.lab.conftest import join

    words = ("--op", "ping_pong,send_recv", "--sizes", SIZE, "--budget", "1")
    commands = [host.start(join(rank, 2, *words), folder) for rank, host in enumerate(two.hosts)]
    ended = [command.wait(_LIMIT_S) for command in commands]
    assert ended[0].code == 0, ended[0].said
    return {row["op"]: row["busbw_bytes_per_s"] for row in ended[0].document["measurements"]}


def _against_a_bare_loop(two: Any, folder: Path) -> list[bool]:
    from benchmarks import overhead

    path = f"{_ROOT / 'scripts'}:{_ROOT}"
    program = "import sys; from benchmarks import links; links.rank(int(sys.argv[1]), sys.argv[2])"
    commands = [
        host.start(
            (sys.executable, "-c", program, str(rank), two.hosts[0].address),
            folder / "bare",
            {"PYTHONPATH": path, "GLOO_SOCKET_IFNAME": "eth0"},
        )
        for rank, host in enumerate(two.hosts)
    ]
    ended = [command.wait(_LIMIT_S) for command in commands]
    assert ended[0].code == 0, ended[0].said
    rows = [overhead.Row(**json.loads(line)) for line in ended[0].stdout.splitlines()]
    return [overhead.show(f"{row.op} on a link", row) != "MISSED" for row in rows]


def rank(number: int, first: str) -> None:
    """One of two ranks, each on its host: our calls and bare ones in turns."""
    import torch.distributed as dist

    from benchmarks import overhead, quiet
    from nccltool.probe import plan
    from nccltool.probe.job import ProbeJob, Sizes

    quiet.share_a_core()
    wait = timedelta(seconds=60)
    store = dist.TCPStore(first, 29500, 2, is_master=number == 0, timeout=wait)
    dist.init_process_group("gloo", store=store, rank=number, world_size=2, timeout=wait)
    for op in ("ping_pong", "send_recv"):
        for size in BARE_SIZES:
            job = ProbeJob(run_id="bench", ops=(op,), sizes=Sizes(listed=(size,)))
            step = plan.steps(job, "gloo", 2)[0]
            bare_s, logs, own_s = overhead.alternate(job, step, SECONDS_EACH)
            row = {"op": op, "bytes": step.layout.bytes, "bare_s": bare_s, "logs": logs, "own_s": own_s}
            print(json.dumps(row) if number == 0 else "", flush=True)
    dist.destroy_process_group()
