"""Files, folders, archives, runs, and standard input: whatever holds measurements of pairs."""

import io
import tarfile
from pathlib import Path

import pytest

from nccltool.core.errors import BadInput
from nccltool.interop import pair_inputs
from nccltool.interop.pair_inputs import PairInput
from nccltool.localize import document
from nccltool.localize.accusations import localized
from tests.support.pairs import FOUND_106, ISSUE_106, OF_106, info

FOREIGN = Path(__file__).parent.parent / "importers" / "foreign"
_DEVICE = "#  Rank  {0} Group  0 Pid  {0} on {1:>10} device  0 [0000:07:00] NVIDIA H100 80GB HBM3\n"


def nccl_tests(a: str, b: str, busbw: float) -> str:
    """What all_reduce_perf prints on two nodes with a GPU each."""
    time = (1 << 20) / busbw / 1e3
    row = f"     1048576        262144     float     sum      -1  {time:.2f} {busbw:.2f} {busbw:.2f}      0"
    columns = "count      type   redop    root     time   algbw   busbw #wrong"
    return (
        "# nThread 1 nGpus 1 minBytes 1048576 maxBytes 1048576 step: 2(factor) warmup iters: 5 iters: 20 agg "
        "iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
        + _DEVICE.format(0, a)
        + _DEVICE.format(1, b)
        + "#\n#                                                              out-of-place\n"
        + f"#       size         {columns}\n"
        + "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)\n"
        + f"{row}\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {busbw:.4f}\n#\n"
    )


def _read(*words: object) -> PairInput:
    return pair_inputs.read([str(word) for word in words], Path("/nowhere"))


def _pairs(found: PairInput) -> list[tuple[tuple[str, ...], float | None]]:
    return [
        (one.members, one.busbw_bytes_per_s and round(one.busbw_bytes_per_s / 1e9, 2)) for one in found.encounters
    ]


def test_a_folder_of_nccl_tests(tmp_path: Path) -> None:
    for number, (a, b, rate) in enumerate([("n1", "n2", 370.0), ("n2", "n3", 180.0)]):
        (tmp_path / f"job-{number}.out").write_text(nccl_tests(a, b, rate))
    (tmp_path / "README").write_text("results of tuesday\n")
    (tmp_path / "core").write_bytes(b"\x7fELF\0\0")
    found = _read(tmp_path)
    assert _pairs(found) == [(("n1", "n2"), 370.0), (("n2", "n3"), 180.0)]
    assert [one.round for one in found.encounters] == [0, 1]
    assert found.notes == (f"{tmp_path}: 2 files left out, because they contain no results: README, core",)


def test_a_folder_of_osu(tmp_path: Path) -> None:
    text = (
        "# OSU MPI Bi-Directional Bandwidth Test v7.3\n"
        "# Size      Bandwidth (MB/s)\n# Datatype: MPI_CHAR.\n524288 40000.0\n1048576 48000.0\n"
    )
    (tmp_path / "osu_bibw_gpu-1_gpu-2.txt").write_text(text)
    assert _pairs(_read(tmp_path)) == [(("gpu-1", "gpu-2"), 24.0)]
    (tmp_path / "osu_bibw_gpu-1_gpu-2.txt").rename(tmp_path / "today.txt")
    with pytest.raises(BadInput, match="does not name its nodes"):
        _read(tmp_path)


def test_mpigraph() -> None:
    found = _read(FOREIGN / "mpigraph.txt")
    assert found.encounters
    assert all(one.is_directed and len(set(one.members)) == 2 for one in found.encounters)


def test_a_run(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(document.to_json(localized(info(), OF_106, FOUND_106, kind="pairs")))
    assert _read(tmp_path).encounters == OF_106
    assert _read(tmp_path / "run.json").encounters == OF_106


def test_ranks_and_nodes_are_not_judged_together(tmp_path: Path) -> None:
    inside = localized(info(), OF_106, FOUND_106, kind="pairs", is_within=True)
    (tmp_path / "run.json").write_text(document.to_json(inside))
    (tmp_path / "p.csv").write_text(ISSUE_106)
    assert _read(tmp_path / "run.json").is_within
    with pytest.raises(BadInput, match="cannot be compared"):
        _read(tmp_path / "run.json", tmp_path / "p.csv")


def test_several_files_are_rounds_after_each_other(tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("n1,n2,3,0\nn1,n3,3,1\n")
    (tmp_path / "2.csv").write_text("n1,n2,3,0\n")
    assert [one.round for one in _read(tmp_path / "1.csv", tmp_path / "2.csv").encounters] == [0, 1, 2]


def test_an_archive_of_results(tmp_path: Path) -> None:
    file = tmp_path / "results.tar.gz"
    with tarfile.open(file, "w:gz") as archive:
        for name, text in (("1.out", nccl_tests("n1", "n2", 370.0)), ("2.csv", ISSUE_106), ("notes", "hello")):
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    assert len(_read(file).encounters) == 6


def test_an_empty_word() -> None:
    with pytest.raises(BadInput, match="a FILE is empty"):
        _read("")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("p.csv", b"", "it is empty"),
        ("p.csv", b"\x00\x01\x02", "it is not UTF-8 text"),
        ("p.csv", bytes(range(256)), "it is not UTF-8 text"),
        ("one.txt", nccl_tests("n1", "n1", 3.0).encode(), "it ran on n1 alone"),
        ("p.json", b'{"schema": 1, "kind": "probe"}', "is not a localization of nccltool"),
        ("p.json", b'{"schema": 1', "is not a localization of nccltool"),
    ],
)
def test_what_is_refused(name: str, content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadInput, match=message):
        _read(tmp_path / name)


@pytest.mark.parametrize("files", [{}, {"README": "hello"}])
def test_a_folder_without_results(files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(BadInput, match=r"no files|none of its files is a result of a pair"):
        _read(tmp_path)


def test_what_is_not_there() -> None:
    with pytest.raises(BadInput, match="nothing"):
        _read("nothing.csv")
