"""What the readers of nccltool read, whole and healthy: fuzzed inputs are made from it."""

import gzip
import io
import lzma
import os
import pickle
import shutil
import sqlite3
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from unittest import mock

import msgspec

RUN_ID = "20250102T030405Z-beef"
RUNS = "state/nccltool/runs"
"""Where commands look for saved runs in the folder of an input."""
TREES = ("h100-pcie", "mig", "container", "wsl2", "tcp", "laptop", "ib")
_ROOT = Path(__file__).resolve().parents[2]
_TESTS = _ROOT / "tests"
_SNAPSHOTS = ("ib", "gb200", "mi300x", "tcp", "wsl2", "container")
CONFIG = b"""\
# of everything that a file may set
format = "table"
timeout = 30
verbose = true

[probe]
op = "all_reduce,all_gather"
min-bytes = "1KiB"
sizes = ["8", "64K"]
precision = 2.5

[doctor]
ignore = ["ENV", "NET003"]

[baseline.list]
color = "never"
"""
HOSTFILE = b"""\
# Open MPI and MPICH
n01 slots=8
n02:8   # racks
n[03-04,07] slots=4 max_slots=8
user@n05:2222
2001:db8::7
[2001:db8::8]:22

10.0.0.9
"""
ENV_FILE = b"""\
NCCL_DEBUG=INFO
NCCL_IB_HCA==mlx5_0:1,mlx5_1:1
NCCL_SOCKET_IFNAME=^lo,docker0
export NCCL_P2P_LEVEL=NVL
NCCL_IB_GID_INDEX=3
NCCL_BUFFSIZE=8388608
NCCL_ALGO="Ring,Tree"
NCCL_TOPO_FILE=/etc/nccl/topo.xml
UCX_TLS=rc
FI_PROVIDER=efa
OMP_NUM_THREADS=8
CUDA_VISIBLE_DEVICES=0,1
"""
JOB_FILES = (
    b"""\
#!/bin/bash
#SBATCH --export=ALL,NCCL_DEBUG=INFO
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1) NCCL_IB_HCA=mlx5_0
cat <<EOF > list
EOF
if [[ $A == 1 ]]; then export NCCL_P2P_LEVEL="${A:-NVL}"; fi
mpirun -x NCCL_ALGO=Ring \\
    -genv FI_PROVIDER efa ./train
""",
    b"""\
apiVersion: v1
kind: Pod
spec:
  containers:
  - args: [bash, -c, "NCCL_DEBUG=INFO torchrun train.py"]
    env: &env
    - name: NCCL_IB_HCA
      value: "mlx5"
  - env: *env
""",
    b'ARG V=1\nFROM x AS y\nENV NCCL_DEBUG INFO\nFROM y\nENV NCCL_ALGO=Ring \\\n    NCCL_PROTO="$V"\n',
)
NCCL_CONF = b"# site\nNCCL_DEBUG=WARN\nNCCL_IB_HCA=mlx5_0\n NCCL_SOCKET_IFNAME = eth0\nNCCL_NVLS_ENABLE=0\n"
WEB_CONFIG = b"""\
tls_server_config:
  cert_file: good.json
  key_file: good.json
  client_auth_type: NoClientCert
basic_auth_users:
  alice: $2b$10$CwTycUXWue0Thq9StjUM0uJ8m1m7Zb9m1i5m4rX3kKxk4aYzq7v1e
"""


def _golden(name: str) -> bytes:
    return (_TESTS / "golden" / name).read_bytes()


@cache
def documents() -> tuple[bytes, ...]:
    """Of runs of each kind: probes, a training, a preflight."""
    from nccltool.preflight import document as preflight_document
    from nccltool.train import document as train_document
    from tests.preflight.views.test_table import FAILING
    from tests.train.test_judge import RIGHT, judged

    return (
        *(_golden(f"run-{name}.json") for name in ("good", "failing", "empty")),
        train_document.to_json(judged(*RIGHT)).encode(),
        preflight_document.to_json(FAILING).encode(),
    )


@cache
def job() -> bytes:
    from nccltool.launch.job import kept
    from tests.support.streams import job_of

    return kept(job_of(0))


@cache
def streams() -> tuple[bytes, ...]:
    """What the commands of a run print with --events, as logs have it."""
    from tests.support.streams import forms, good

    with mock.patch("time.time", return_value=1.75e9):  # a seed is the same input tomorrow
        return tuple(forms([good(0), good(1)]).values())


@cache
def said() -> tuple[bytes, ...]:
    """The events of a run, a line of JSON each."""
    from nccltool.launch import events
    from tests.support.streams import beginning, leaving, steps

    made = [one for node in (0, 1) for part in (beginning, steps, leaving) for one in part(node)]
    return tuple(events.encode(one)[1:] for one in made)


@cache
def instructions() -> tuple[bytes, ...]:
    from nccltool.launch.instructions import Alive, Go, Goal, Saved, Try, encode

    goals: dict[int, tuple[Goal, ...]] = {0: (Goal(node=1, port=29500, addresses=("192.0.2.2", "2001:db8::2")),)}
    go = Go(nodes=2, places={0: (0, "n1:29500"), 1: (1, "192.0.2.2:29500")}, nproc_per_node=8)
    return tuple(encode(one) for one in (Try(goals=goals), go, Saved(), Alive()))


@cache
def snapshots() -> tuple[bytes, ...]:
    from nccltool.hosts.facts import to_json
    from tests import captured_hosts

    fixed = {"taken": "2026-01-02T03:04:05Z", "seconds": 0.05}
    healthy = (msgspec.structs.replace(captured_hosts.healthy(name), **fixed) for name in _SNAPSHOTS)
    return tuple(to_json(one).encode() for one in healthy)


@cache
def suites() -> tuple[bytes, ...]:
    return tuple(file.read_bytes() for file in sorted((_ROOT / "checks").glob("*.toml")))


@cache
def platforms() -> tuple[bytes, ...]:
    return tuple(file.read_bytes() for file in sorted((_ROOT / "checks/platforms").glob("*.toml")))


@cache
def results() -> tuple[bytes, ...]:
    """Of nccl-tests and rccl-tests."""
    files = sorted((_TESTS / "interop/importers/samples").iterdir())
    return tuple(file.read_bytes() for file in files if file.is_file())


@cache
def logs() -> tuple[bytes, ...]:
    """Of failed jobs."""
    texts = [(_TESTS / "data" / name).read_text() for name in ("incidents.txt", "variants.txt")]
    incidents = [part.encode() for text in texts for part in text.split("=== ")[1:]]
    endings = sorted((_TESTS / "launch/endings").glob("*.txt"))
    return (*incidents, *(file.read_bytes()[:20_000] for file in endings))


def packed(data: bytes, kind: int) -> bytes:
    """As logs are kept: with gzip, xz, zstd, or in an archive."""
    if kind == 0:
        return gzip.compress(data, mtime=0)
    if kind == 1:
        return lzma.compress(data)
    if kind == 2:
        from nccltool.core import packed

        return bytes(packed.zstd().compress(data))
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        member = tarfile.TarInfo("job.log")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return gzip.compress(made.getvalue(), mtime=0) if kind == 3 else made.getvalue()


@cache
def recordings() -> tuple[bytes, ...]:
    """Dumps of torch's flight recorder."""
    from tests.triage.flight_recorder.samples import batch, entry, message, waits

    frames = [{"name": "step", "filename": "/srv/train.py", "line": 7}]
    calls = [
        [entry(1), entry(2, frames=frames), waits(3)],
        [entry(1), *batch(2, "send 0->1", "recv 0<-1"), message("send 1->0", 3)],
    ]
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}
    return tuple(
        msgspec.json.encode({"entries": one, "pg_config": config, "pg_status": {}, "version": "2.10"})
        for one in calls
    )


@cache
def traces() -> tuple[bytes, ...]:
    """Of torch.profiler: the ranks of a run over Gloo, and one of a GPU."""
    from tests.trace.samples import event, info

    files = sorted((_TESTS / "docs/shipped/traced").iterdir())
    labels = {"Process Group Name": "0", "Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float"}
    events = [
        event("ProfilerStep#1", 0, 90.5, "user_annotation"),
        event("aten::mm", 1, 20),
        event("cudaLaunchKernel", 2, 3.5, "cuda_runtime", correlation=7),
        event("ampere_sgemm", 30, 20, "kernel", correlation=7),
        event("ncclDevKernel_AllReduce_Sum_f32_RING_LL", 50, 30, "kernel", **labels),
    ]
    gpu = msgspec.json.encode({"distributedInfo": info(1, 4), "host_name": "n1", "traceEvents": events})
    return (*(file.read_bytes() for file in files), gpu)


def pickled(recording: bytes) -> bytes:
    return pickle.dumps(msgspec.json.decode(recording), protocol=2)


@cache
def baseline() -> tuple[bytes, bytes]:
    """As JSON, and the store that it is in."""
    from nccltool.compare import baselines, judge
    from nccltool.compare.views import baseline as view
    from tests.compare import samples

    with tempfile.TemporaryDirectory() as folder:
        store = baselines.Store(Path(folder) / "store.sqlite")
        runs = [samples.run(name, samples.STEADY) for name in ("a", "b", "c")]
        with mock.patch("nccltool.compare.baselines.now", return_value="2026-01-02T03:04:05Z"):
            saved = store.save("good", "before the upgrade", runs, "new")
        with sqlite3.connect(Path(folder) / "store.sqlite") as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        return view.render(saved, judge.summary(saved), "json").encode(), (
            Path(folder) / "store.sqlite"
        ).read_bytes()


@cache
def mark() -> bytes:
    """What a checkpoint says of itself."""
    from tests.train.test_checkpoints import saved

    with tempfile.TemporaryDirectory() as folder:
        from nccltool.train.checkpoints import MARK

        return (saved(Path(folder) / "ddp", 4) / MARK).read_bytes()


def tree_files(name: str) -> tuple[str, ...]:
    """The files of a captured host that can be changed."""
    return tuple(sorted(_tree(name)))


def tree_file(name: str, path: str) -> bytes:
    return _tree(name)[path]


@cache
def _tree(name: str) -> dict[str, bytes]:
    from tests import captured_hosts

    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        root = captured_hosts.build(Path(folder) / name, captured_hosts.KINDS[name])
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in root.rglob("*")
            if path.is_file() and not path.is_symlink()
        }


def stage(folder: Path) -> None:
    """What every input finds in its folder, besides its own files."""
    from tests import captured_hosts

    for name in TREES:
        captured_hosts.build(folder / "trees" / name, captured_hosts.KINDS[name])
    refresh(folder)


def refresh(folder: Path) -> None:
    """Take away what the last input left, but for the trees."""
    for path in folder.iterdir():
        if path.name == "trees":
            continue
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    (folder / "folder").mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("link")
    (folder / "good.json").write_bytes(documents()[0])
    (folder / "hosts").write_bytes(HOSTFILE)
    run = folder / RUNS / RUN_ID
    run.mkdir(parents=True)
    (run / "job.json").write_bytes(job())
    (run / "run.json").write_bytes(documents()[0])
    (run / "events.jsonl").write_bytes(b"".join(said()))
    (run / "log.txt").write_bytes(logs()[0])


def restore(folder: Path, name: str) -> None:
    """A file of a tree is as it was."""
    _, tree, path = name.split("/", 2)
    if path in _tree(tree):
        (folder / name).write_bytes(tree_file(tree, path))
    else:
        (folder / name).unlink()
