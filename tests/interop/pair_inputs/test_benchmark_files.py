"""Results of benchmarks, one a pair."""

import pytest

from nccltool.interop.pair_inputs import benchmark_files


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("out/n1_n2.txt", ("n1", "n2")),
        ("n1-n2.out", ("n1", "n2")),
        ("gpu-01-gpu-02.log", ("gpu-01", "gpu-02")),
        ("rack1_gpu_01_rack1_gpu_02.log", ("rack1_gpu_01", "rack1_gpu_02")),
        ("osu_bibw_n1_n2.txt.gz", ("n1", "n2")),
        ("all_reduce_perf-n1-vs-n2.txt", ("n1", "n2")),
        ("n1__n2.txt", ("n1", "n2")),
        ("n1.cluster.local,n2.cluster.local.txt", ("n1.cluster.local", "n2.cluster.local")),
        ("results.tar, n1_n2.txt", ("n1", "n2")),
        ("n1.txt", None),
        ("n1_n1.txt", None),
        ("n1_n2_n3.txt", None),
        ("", None),
    ],
)
def test_nodes_of_a_file_name(name: str, expected: tuple[str, str] | None) -> None:
    assert benchmark_files.nodes_of_name(name) == expected
