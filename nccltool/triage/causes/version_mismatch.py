"""Driver, CUDA, NCCL, or plugin versions are incompatible or differ between ranks.

## Meaning
A library needs a newer driver, a framework was built for a different NCCL or GPU, or the hosts of a job run
different NCCL versions.

## Impact
The job does not start or fails with misleading errors: messages of the wrong size, unknown address families,
missing symbols.

## Verify
    grep -h 'NCCL version' LOG | sort | uniq -c        # expected: one version
    nvidia-smi --query-gpu=driver_version --format=csv # on all hosts; expected: the same, new enough
    python -c 'import torch; print(torch.__version__, torch.version.cuda, torch.cuda.nccl.version())'
    ldconfig -p | grep nccl; echo $LD_LIBRARY_PATH     # expected: no other libnccl before torch's own

## Causes
* Ranks of the job use images of different ages.
* LD_LIBRARY_PATH or LD_PRELOAD contains a different libnccl.
* The container needs a newer CUDA than the driver supports.
* The host was not rebooted after a driver update.

## Fix
Start all ranks from one image. Unset LD_PRELOAD and remove foreign libraries from LD_LIBRARY_PATH. Use an image
for the driver's CUDA version. Blast radius: this job. To update the driver, drain and reboot the host.

## Escalate
Send the owner of the images both versions.
"""

import re

from nccltool.triage.causes.base import FITS, SAYS, Clue, Clues, Given, Offender, Timeline, odd_one_out

DECIDES = "versions of NCCL, torch, and the driver on every host"
EXPLAINS = frozenset({"app-error", "nccl-bug", "net-interface", "plugin"})

SIGNS = {
    "nccl.version-mismatch": (0.95, "ranks run different versions of NCCL"),
    "nccl.driver-old": (SAYS, "the driver is too old for this CUDA version"),
    "version.no-library": (FITS, "the driver's library could not be loaded"),
    "version.driver": (SAYS, "driver and libraries are incompatible"),
    "version.build": (0.85, "a library was built for another version or GPU"),
    "version.library": (0.6, "the program does not find a library of CUDA, NCCL, or torch"),
}
_CONSEQUENCES = (
    *("nccl.bad-family", "nccl.truncated", "nccl.bootstrap-mismatch"),
    *("nccl.wrong-magic", "nccl.wrong-type"),
)


def clues(timeline: Timeline) -> Given:
    if len(set(_by_host(timeline).values())) > 1 and timeline.failed:
        event = timeline.first(*_CONSEQUENCES) or timeline.first("nccl.version")
        strength = SAYS if timeline.has(*_CONSEQUENCES) else FITS
        yield Clue(strength, f"hosts run NCCL {', '.join(sorted(timeline.versions))}", event)
    if timeline.failed and timeline.has("nccl.truncated") and not timeline.has("nccl.init-complete"):
        yield Clue(FITS, "ranks exchange structures of different sizes", timeline.first("nccl.truncated"))
    warned = timeline.first("version.driver", where=lambda e: "UserWarning" in e.text)
    if warned and (raised := timeline.first("app.exception")) and not _OF_GPUS.search(raised.text):
        yield Clue(-0.7, "the program continued without a GPU, and failed for another reason", raised)
    shown = timeline.of("nvshmem.version") if timeline.failed else ()
    named = {event.get(part) for event in shown for part in ("version", "other")} - {""}
    if len(named) > 1:
        yield Clue(0.6, f"the log names NVSHMEM versions {' and '.join(sorted(named))}", shown[-1])


_OF_GPUS = re.compile(r"(?i)cuda|nccl|gpu|driver|nvml|accelerator")


def _by_host(timeline: Timeline) -> dict[str, str]:
    return {host.name: host.versions[0].partition("+")[0] for host in timeline.hosts.values() if host.versions}


def offender(timeline: Timeline, clues: Clues) -> Offender | None:
    driver = timeline.first_part("driver", "shell.libcuda", "shell.driver", name="driver") or timeline.part(
        "library", "shell.libcuda", name="library"
    )
    if driver and timeline.has("nccl.driver-old", "version.driver"):
        return driver
    if found := timeline.first_part("library", "shell.loads", "shell.package", name="library"):
        return found
    versions = _by_host(timeline)
    if len(set(versions.values())) > 1:
        complaining = {event.host for event in timeline.of(*_CONSEQUENCES)}
        silent = [name for name in versions if name not in complaining]
        if odd := odd_one_out(versions) or (silent[0] if len(silent) == 1 else None):
            return Offender("host", odd)
    known = clues.host_or_rank()
    if known and known.kind == "host":
        return known
    number = timeline.first_part("driver", "version.driver", "nccl.driver-old", name="version")
    library = timeline.part("library", "version.build", name="library")
    return number or (library and Offender("library", library.name.rpartition("/")[2])) or known
