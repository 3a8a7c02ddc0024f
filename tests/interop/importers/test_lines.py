"""Output of nccl-tests as launchers, collectors and archives hand it over: it has the rows of the plain file."""

import bz2
import gzip
import io
import json
import lzma
import tarfile
import zipfile
from collections.abc import Callable
from itertools import count

import pytest

from nccltool.core import packed
from nccltool.core.errors import BadInput
from nccltool.interop import importers
from nccltool.interop.importers import Report, Told
from tests.interop.importers import samples

PLAIN = samples.data("all_reduce-2.19.6.txt").decode()
OTHER = samples.data("two-operations.txt").decode()
POD = "nccl-test-worker-0"
Line = Callable[[int, str], str]
"""(number, line) -> the line as it is wrapped"""


def clock(number: int) -> str:
    return f"{9 + number // 3600:02}:{number // 60 % 60:02}:{number % 60:02}"


LINES: dict[str, Line] = {
    "kubectl logs --timestamps": lambda n, line: f"2026-11-23T{clock(n)}.{n:09}Z {line}",
    "kubectl logs --prefix": lambda n, line: f"[pod/{POD}/nccl] {line}",
    "kubectl logs --prefix --timestamps": lambda n, line: f"[pod/{POD}/nccl] 2026-11-23T{clock(n)}.{n:09}Z {line}",
    "cri-o file": lambda n, line: f"2026-11-23T{clock(n)}.{n:09}+00:00 stdout F {line}",
    "stern": lambda n, line: f"{POD} nccl {line}",
    "stern --timestamps": lambda n, line: f"{POD} nccl 2026-11-23T{clock(n)}.{n:09}Z {line}",
    "mpirun 4 --tag-output": lambda n, line: f"[1,0]<stdout>:{line}",
    "mpirun 4 --timestamp-output": lambda n, line: f"Mon Nov 23 {clock(n)} 2026<stdout>:{line}",
    "mpirun 4 --tag-output --timestamp-output": lambda n, line: f"Mon Nov 23 {clock(n)} 2026[1,0]<stdout>:{line}",
    "mpirun 5 --output tag": lambda n, line: f"[prterun-node-a-77@1,0]<stdout>: {line}",
    "mpirun 5 --output timestamp": lambda n, line: f"Mon Nov 23 {clock(n)} 2026<stdout>: {line}",
    "mpirun 5 --output tag,timestamp": lambda n, line: (
        f"Mon Nov 23 {clock(n)} 2026[prterun-node-a-77@1,0]<stdout>: {line}"
    ),
    "mpirun 5 --output tag-detailed": lambda n, line: f"[prterun-node-a-77@1,0][node-a:41200]<stdout>: {line}",
    "mpirun -l of Intel MPI": lambda n, line: f"[0] {line}",
    "mpiexec -prepend-pattern of MPICH": lambda n, line: f"[0@node-a] {line}",
    "srun --label": lambda n, line: f"0: {line}",
    "srun --label, 128 tasks": lambda n, line: f"  0: {line}",
    "SkyPilot": lambda n, line: f"(head, rank=0, pid=4120, ip=10.0.0.4) {line}",
    "SkyPilot, one node": lambda n, line: f"(nccl-test, pid=4120) {line}",
    "Ray": lambda n, line: f"(main pid=4120, ip=10.0.0.4) {line}",
    "Ray, this node": lambda n, line: f"(main pid=4120) {line}",
    "pdsh": lambda n, line: f"node001: {line}",
    "clush": lambda n, line: f"dgx-12: {line}",
    "pdsh, capital letters": lambda n, line: f"GPU-Node7: {line}",
    "docker compose": lambda n, line: f"nccl-1  | {line}",
    "docker compose --timestamps": lambda n, line: f"nccl-1  | 2026-11-23T{clock(n)}.{n:09}Z {line}",
    "journald": lambda n, line: f"Nov 23 {clock(n)} node-a nccl-tests[4120]: {line}",
    "journald -o short-iso": lambda n, line: f"2026-11-23T{clock(n)}+0000 node-a nccl-tests[4120]: {line}",
    "syslog, systemd": lambda n, line: f"Nov  3 {clock(n)} node-a run-nccl.sh[77]: {line}",
    "GitHub Actions": lambda n, line: f"2026-11-23T{clock(n)}.{n:07}Z {line}",
    "gh run view --log": lambda n, line: f"nccl\tRun tests\t2026-11-23T{clock(n)}.{n:07}Z {line}",
    "GitLab CI": lambda n, line: f"2026-11-23T{clock(n)}.{n:06}Z 00O {line}",
    "[rank0]:": lambda n, line: f"[rank0]:{line}",
    "torchrun --tee": lambda n, line: f"[default0]:{line}",
    "SageMaker": lambda n, line: f"[1,mpirank:0,algo-1]<stdout>:{line}",
    "CloudWatch": lambda n, line: f"2026-11-23T{clock(n)}.{n:03}Z\t{line}",
    "aws logs tail": lambda n, line: f"2026-11-23T{clock(n)}.{n:06}+00:00 job/algo-1-1763 {line}",
    "Python logging": lambda n, line: f"2026-11-23 {clock(n)},{n % 1000:03} - nccl - INFO - {line}",
    "grep -n": lambda n, line: f"out.txt:{n}:{line}",
    "ts": lambda n, line: f"Nov 23 {clock(n)} {line}",
    "ts -s": lambda n, line: f"{clock(n)} {line}",
    "ts %.s": lambda n, line: f"17638{n:05}.{n:06} {line}",
    "carriage return and line feed": lambda n, line: f"{line}\r",
    "indented": lambda n, line: f"    {line}".rstrip(),
    "cat -n": lambda n, line: f"{n:6d}  {line}",
    "Buildkite": lambda n, line: f"\x1b_bk;t=17638{n:08}\x07{line}",
    "ANSI colours": lambda n, line: f"\x1b[36m{line}\x1b[0m",
    "colour of docker compose": lambda n, line: f"\x1b[36mnccl-1  |\x1b[0m {line}",
    "progress before a carriage return": lambda n, line: f"running {n} %\r\x1b[K{line}",
}


def tar(kind: str) -> Callable[[bytes], bytes]:
    def made(data: bytes) -> bytes:
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode=f"w:{kind}") as archive:  # type: ignore[call-overload]
            for name, content in (("job/env.txt", b"NCCL_DEBUG=INFO\n"), ("job/all_reduce.txt", data)):
                about = tarfile.TarInfo(name)
                about.size = len(content)
                archive.addfile(about, io.BytesIO(content))
        return file.getvalue()

    return made


def zipped(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("env.txt", "NCCL_DEBUG=INFO\n")
        archive.writestr("all_reduce.txt", data)
    return file.getvalue()


FILES: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": lambda data: packed.zstd().compress(data),
    "tar": tar(""),
    "tar.gz": tar("gz"),
    "tar.xz": tar("xz"),
    "zip": zipped,
    "tar of a gzip": lambda data: tar("")(gzip.compress(data)),
    "UTF-16 of PowerShell": lambda data: data.decode().encode("utf-16"),
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
}


def wrapped(text: str, way: Line) -> bytes:
    return "".join(way(number, line) + "\n" for number, line in zip(count(1), text.splitlines())).encode()


def told(test: Report) -> tuple[object, ...]:
    rows = tuple((row.bytes, row.count, row.dtype, row.reduce_op, row.root, row.halves) for row in test.rows)
    return (test.op, test.world_size, test.hosts, test.average, test.out_of_bounds, test.tool, rows)


def read(data: bytes) -> list[tuple[object, ...]]:
    tests = importers.read(data, "out.txt", Told())
    assert not any(test.missing or test.stopped or test.failures for test in tests)
    return [told(test) for test in tests]


def test_there_are_at_least_33_of_them() -> None:
    assert len(LINES) + len(FILES) >= 33


@pytest.mark.parametrize("text", [PLAIN, OTHER], ids=["one test", "two tests"])
@pytest.mark.parametrize("way", LINES.values(), ids=LINES.keys())
def test_lines(way: Line, text: str) -> None:
    assert read(wrapped(text, way)) == read(text.encode())


@pytest.mark.parametrize("way", FILES.values(), ids=FILES.keys())
def test_files(way: Callable[[bytes], bytes]) -> None:
    assert read(way(PLAIN.encode())) == read(PLAIN.encode())


def test_what_an_archive_holds_besides_is_said() -> None:
    (test,) = importers.read(tar("gz")(PLAIN.encode()), "job.tgz", Told())
    assert test.where == "job.tgz, job/all_reduce.txt"
    assert test.said[-1] == "passed over, because no result is in them: job/env.txt"


TWO = samples.data("one-rank-jobs.txt").decode()


@pytest.mark.parametrize(
    "label",
    ["node{}: ", "[rank{}]:", "svc-{}  | ", "[pod/w-{}/nccl] ", "Nov 23 09:00:00 node{} nccl[7]: ", "w-{} nccl "],
)
def test_two_hosts_line_by_line(label: str) -> None:
    """Each writer's lines stay together, however they are mixed."""
    one, two = PLAIN.splitlines(), OTHER.splitlines()
    lines = []
    for index in range(max(len(one), len(two))):
        lines += [label.format(1) + one[index]] if index < len(one) else []
        lines += [label.format(2) + two[index]] if index < len(two) else []
    found = read(("\n".join(lines) + "\n").encode())
    assert found == [*read(PLAIN.encode()), *read(OTHER.encode())]


def test_an_endless_line_takes_no_time() -> None:
    """Expressions look at the first 8 KiB of it."""
    endless = "a" * 4_000_000 + " Test # nThread 1 nGpus"
    assert read(f"{endless}\n{PLAIN}".encode()) == read(PLAIN.encode())


def test_a_log_of_dockers_json_file_driver() -> None:
    for name in ("all_reduce-2.19.6.txt", "srun-labels.txt"):
        entry = {"stream": "stdout", "time": "2026-05-01T10:00:00.123456789Z"}
        lines = samples.data(name).decode().splitlines(True)
        wrapped = "".join(json.dumps({"log": line, **entry}) + "\n" for line in lines)
        assert importers.read(wrapped.encode(), name, samples.told(name)) == samples.read(name)


@pytest.mark.parametrize("key", ["MESSAGE", "textPayload", "line"])
def test_a_log_of_json_lines_is_refused_with_the_way_to_its_text(key: str) -> None:
    entries = ({key: line, "at": number} for number, line in enumerate(PLAIN.splitlines()))
    with pytest.raises(BadInput) as error:
        importers.read("\n".join(map(json.dumps, entries)).encode(), "out.json", Told())
    assert error.value.message == f"out.json: each line is JSON, and the output is under the key {key}"
    assert error.value.remedy == f"pass the lines themselves: jq -r .{key} FILE | nccltool import -"


def test_lines_of_other_json_are_broken_json() -> None:
    with pytest.raises(BadInput, match=r"^o, line 2: broken JSON: Extra data at column 1$"):
        importers.read(b'{"results": []}\n{"results": []}\n', "o", Told())
