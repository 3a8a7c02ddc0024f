"""iperf3 between two hosts of a laboratory: what another program sees of the same link."""

import json
import shutil
import subprocess

from tests.lab.lab import Host
from tests.support.commands import until

_PORT = "5201"


def lacking() -> str:
    """Why it cannot be run here; empty when it can."""
    return "" if shutil.which("iperf3") else "needs iperf3: apt-get install iperf3"


def iperf3_bits_per_s(client: Host, server: Host, seconds: float, both_ways: bool = False) -> float:
    """What one TCP stream carries from one host to the other, as the receiver counts it; or the slower one of two
    that go both ways at once."""
    argv = [*server.inside, "iperf3", "--server", "--one-off", "--port", _PORT]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as serving:
        try:
            assert until(lambda: f":{_PORT}" in server.run("ss", "-Hltn"), 10.0)
            words = ("--client", server.address, "--port", _PORT, "--time", f"{seconds:g}", "--json")
            said = json.loads(client.run("iperf3", *words, *(["--bidir"] if both_ways else [])))["end"]
            serving.wait(10.0)
        finally:
            serving.kill()
    sums = ("sum_received", "sum_received_bidir_reverse") if both_ways else ("sum_received",)
    return min(float(said[name]["bits_per_second"]) for name in sums)
