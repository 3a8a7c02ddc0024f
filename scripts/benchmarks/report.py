"""How long does a report of a large cluster take to write and to open? 1,024 hosts, ten operations, 20 sizes.

The report of the measurements and that of the pairs are written in a process of their own, whose time and memory
count. Where Chromium is installed, both are opened in it, and scrolled to their ends.
"""

import random
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks import extent
from nccltool.core.host_lists import unfold
from nccltool.localize import accusations
from nccltool.localize.localized import LocalizedRun
from nccltool.probe import collectives
from nccltool.probe.result import Run
from nccltool.report import page
from nccltool.report.views import html
from tests import samples
from tests.report import materials
from tests.support import chromium
from tests.support.pairs import FOUND_106, met

HOSTS = extent.of(1024, 8)
SIZES = extent.of(20, 2)
ROUNDS = extent.of(12, 2)
WRITE_TARGET_S, MEMORY_TARGET_MIB, OPEN_TARGET_S = 10.0, 500, 3.0
_FILES = ("probe", "pairs")


def main() -> bool:
    """Print times, memory, and sizes; whether all are under their targets."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-c", "from benchmarks import report; report.write()", folder]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        print(done.stdout, end="")
        *_, verdict = done.stdout.split()
        good = _opened(Path(folder)) if chromium.PROGRAM else True
    return good and verdict == "ok"


def write() -> None:
    """Both reports into the folder that the command line names."""
    folder = Path(sys.argv[1])
    good = True
    for name, run in zip(_FILES, (_probe(), _pairs()), strict=True):
        begin, used = time.monotonic(), time.process_time()
        text = html.render(page.of(materials.of(run)))
        took, used = time.monotonic() - begin, time.process_time() - used
        (folder / f"{name}.html").write_text(text)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        good = good and took <= WRITE_TARGET_S and memory <= MEMORY_TARGET_MIB
        print(
            f"{name} of {HOSTS} hosts: written in {took:.1f} s ({used:.1f} s of processor time),"
            f" at most {memory} MiB, {len(text) / 1e6:.2f} MB"
        )
    print("ok" if good else "MISSED")


def _probe() -> Run:
    rows = tuple(
        samples.measurement(
            op=op,
            bytes=2 ** (10 + size),
            time_s=samples.stats(2 ** (size - 10) * 1e-3),
            busbw_bytes_per_s=1.9e9 * (size + 1),
            limit_busbw_bytes_per_s=4e11,
        )
        for op in collectives.NAMES
        for size in range(SIZES)
    )
    info = samples.info(hosts=_hosts(), nodes=HOSTS, world_size=8 * HOSTS, emulated=False)
    return replace(materials.swept(), info=info, measurements=rows)


def _pairs() -> LocalizedRun:
    """One node is slow."""
    chosen, hosts = random.Random(1), list(_hosts())
    found = []
    for number in range(ROUNDS):
        chosen.shuffle(hosts)
        for a, b in zip(hosts[::2], hosts[1::2], strict=True):
            rate = 20.0 if "n0007" in (a, b) else chosen.uniform(48.0, 50.0)
            found.append(met(a, b, rate, number))
    localization = replace(FOUND_106, healthy_busbw_bytes_per_s=49e9)
    return accusations.localized(samples.info(hosts=_hosts()), tuple(found), localization)


def _hosts() -> tuple[str, ...]:
    return tuple(unfold(f"n[0001-{HOSTS:04}]", HOSTS))


def _opened(folder: Path) -> bool:
    good = True
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        chromium.browser(Path(profile)) as browser,
    ):
        for name in _FILES:
            begin = time.monotonic()
            browser.open(folder / f"{name}.html")
            browser.run(
                "new Promise(done => { scrollTo(0, document.body.scrollHeight);"
                " requestAnimationFrame(() => requestAnimationFrame(done)); })"
            )
            took = time.monotonic() - begin
            good = good and took <= OPEN_TARGET_S
            print(f"{name}: opened and scrolled to its end in {took:.2f} s {'ok' if good else 'MISSED'}")
    return good
